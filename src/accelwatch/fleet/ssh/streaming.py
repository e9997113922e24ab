"""The stream of an accelwatch that is installed on a host, over the connection to its shell."""

import asyncio

from accelwatch.fleet.follow.failures.faults import NotOurs, Reason, TargetFault
from accelwatch.fleet.follow.follow import Sink
from accelwatch.fleet.follow.frames import FrameReader, RawTick
from accelwatch.fleet.ssh.answers import start_of_stream
from accelwatch.fleet.ssh.connection import Connection
from accelwatch.fleet.ssh.refusals import lost, quoted
from accelwatch.fleet.ssh.script import STREAM
from accelwatch.fleet.target import Target
from accelwatch.schema.stream.compact import Hello

_MOST_S = 600.0


class Streaming:
    """One stream; raises TargetFault at its end, and NotOurs when it never began."""

    def __init__(
        self, connection: Connection, target: Target, sink: Sink, limits: tuple[int, float]
    ) -> None:
        """`limits` are the bytes of one message, and seconds until the first tick or without one."""
        self._connection = connection
        self._target = target
        self._sink = sink
        self._silence_s = limits[1]
        self._limit = limits[0]
        self._reader = FrameReader(limits[0])
        self._ticked = 0.0
        self.ticks = 0

    async def run(self, marker: str) -> None:
        """Hand every message over. Raises TargetFault, NotOurs."""
        loop = asyncio.get_running_loop()
        self._ticked = loop.time()
        self._sink.started(self._target, "stream")
        try:
            async with asyncio.timeout(self._silence_s):
                await self._connection.request(STREAM, start_of_stream(marker), self._limit)
            finished = self._connection.divert(self._receive)
            while not finished.done():
                left_s = self._ticked + self._silence_s - loop.time()
                if left_s <= 0:
                    raise self._named(Reason.TIMEOUT, "no tick of its accelwatch in time")
                await asyncio.wait({finished}, timeout=left_s)
            finished.result()
        except TimeoutError as error:
            raise self._named(Reason.TIMEOUT, "its shell does not start accelwatch") from error
        except EOFError as error:
            await self._connection.wait_for_exit()
            stderr = self._connection.stderr
            if self.ticks:
                raise lost(stderr) from error
            text = f"its accelwatch does not stream{quoted(stderr)}"
            raise NotOurs(Reason.CLOSED, text) from error

    def _named(self, reason: Reason, text: str) -> TargetFault:
        return TargetFault(reason, text) if self.ticks else NotOurs(reason, text)

    def _receive(self, data: bytes) -> None:
        for message, size in self._reader.feed(data):
            self._sink.message(self._target, message, size)
            if isinstance(message, RawTick):
                self.ticks += 1
                self._ticked = asyncio.get_running_loop().time()
            elif isinstance(message, Hello) and message.interval_s:
                interval_s = min(max(message.interval_s, 0.1), _MOST_S)
                self._silence_s = max(self._silence_s, 3 * interval_s)
