"""The agent's stream over standard output for as long as standard input is open: no server at all.

Whoever reads it holds the other end of both, such as an ssh, and it ends with them.
"""

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType

from accelwatch.agent.collection import Collection
from accelwatch.agent.stream import Pulse, send_stream
from accelwatch.base.clock import Clock
from accelwatch.base.errors import AccelwatchError

# How long the first message waits for devices that have not been read yet.
_FIRST_S = 4.0
_STALL_S = 60.0


class PipeOutlet:
    """Writes to a descriptor. A write waits until the reader reads; ticks are left out meanwhile."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @property
    def headers(self) -> Mapping[str, str]:
        """Empty: a pipe has no request."""
        return MappingProxyType({})

    def backlog(self) -> int:
        """Zero: every write was read."""
        return 0

    async def write(self, data: bytes) -> None:
        """Hand over bytes. Raises ConnectionError when the reader has gone, else AccelwatchError."""
        await asyncio.to_thread(self._write, data)

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except ConnectionError:
            raise
        except OSError as error:
            raise AccelwatchError(f"cannot write to stdout: {error.strerror}") from error


def when_closed(descriptor: int, callback: Callable[[], None]) -> None:
    """Call `callback` on a thread at the end of the input; its content is ignored."""

    def watch() -> None:
        with contextlib.suppress(OSError):
            while os.read(descriptor, 4096):
                pass
        callback()

    threading.Thread(target=watch, name="input", daemon=True).start()


async def pipe_stream(
    collection: Collection, interval_s: float, media: str, clock: Clock, outlet: PipeOutlet
) -> None:
    """Collect and send until cancelled or the reader has gone."""
    pulse = Pulse(collection, interval_s)
    collection.start()
    beating = asyncio.ensure_future(pulse.run())
    try:
        await _first_readings(collection)
        with contextlib.suppress(ConnectionError):
            await send_stream(collection, pulse, media, outlet, clock=clock, stall_s=_STALL_S)
    finally:
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)
        await collection.stop()


async def _first_readings(collection: Collection) -> None:
    changed = asyncio.Event()
    end = collection.subscribe(changed.set)
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FIRST_S):
                while not collection.ready:
                    changed.clear()
                    await changed.wait()
    finally:
        end()
