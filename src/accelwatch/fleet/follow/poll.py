"""One poll of an exposition: requested, read within bounds, turned into devices."""

import asyncio
import math
import time
from collections.abc import Callable

import msgspec

from accelwatch.fleet.follow.pages import Pages
from accelwatch.fleet.follow.turn import Turn
from accelwatch.fleet.listing import Listing
from accelwatch.schema.snapshot import DeviceView

_SMALL_BYTES = 32 << 10
_LARGE_BYTES = 1 << 20
_QUICK_S = 0.01


class Exposed(msgspec.Struct, frozen=True, kw_only=True):
    """The content of an exposition."""

    dialect: str
    version: str = ""
    devices: tuple[DeviceView, ...]
    # The node's own time, Unix seconds, if the exposition has it.
    time: float | None = None
    # Series refused, by reason.
    rejected: dict[str, int] = {}
    # Whether one of our own agents speaks, who has a stream.
    streams: bool = False
    # Until the next one; None where that is as configured for all.
    interval_s: float | None = None
    # Whether devices that no pod holds are listed, where the page shows it.
    listing: Listing | None = None


# Reads the expositions of one target, one after the other. Raises TargetFault.
ReadExposition = Callable[[bytes], Exposed]


class PacedReader:
    """Reads a target's expositions: on the loop while that is quick, else on a thread.

    New series cost many times as much as those that were there before. `turn` lets one
    thread at a time read, for all targets: the loop would have to wait for each of several.
    """

    def __init__(self, read: ReadExposition, turn: Turn) -> None:
        self._read = read
        self._turn = turn
        self._duration_s = math.inf

    async def read(self, body: bytes) -> Exposed:
        """The content of an exposition. Raises TargetFault."""
        quick = self._duration_s <= _QUICK_S and len(body) <= _LARGE_BYTES
        if quick or len(body) <= _SMALL_BYTES:
            return self._timed(body)
        async with self._turn:
            return await asyncio.to_thread(self._timed, body)

    def _timed(self, body: bytes) -> Exposed:
        started = time.thread_time()
        try:
            return self._read(body)
        finally:
            self._duration_s = time.thread_time() - started


async def poll(pages: Pages, reading: PacedReader) -> tuple[Exposed, float]:
    """The devices of a target and the duration of the poll. Raises TargetFault."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    exposed = await reading.read(await pages.next())
    return exposed, loop.time() - started
