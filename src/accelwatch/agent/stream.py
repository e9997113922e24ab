"""/v1/stream: the compact form over one long response, as MessagePack, JSON lines or server-sent events.

Every client has its own encoder and position. A client that reads slowly misses ticks, which it
sees as a gap in `sequence`; nothing is queued for it but the message being written.
"""

import asyncio
import contextlib

import msgspec

from accelwatch.agent.feed import Feed
from accelwatch.base.clock import Clock
from accelwatch.schema.stream.compact import CompactEncoder, Message, Tick, packed
from accelwatch.schema.stream.context_encoder import EventNumbers
from accelwatch.web.http.stream import PACKED, Outlet, Stalled, framed

# Share of an interval after a change in which the cycles of other backends join the tick.
_GATHER = 0.1
# Share of an interval after a tick in which there is no other.
_REST = 0.5


class Pulse:
    """Counts ticks: one soon after each change of the store, and one an interval when nothing changes.

    A tick without a change is the heartbeat: its ages have grown.
    """

    def __init__(self, feed: Feed, interval_s: float) -> None:
        self._feed = feed
        self._changed = asyncio.Event()
        self._beat = asyncio.Event()
        self.interval_s = interval_s
        # The same for every stream, so that a client that reconnects knows what it was sent.
        self.numbers = EventNumbers()
        # Ticks so far.
        self.count = 0
        self.closed = False

    async def run(self) -> None:
        """Beat until cancelled."""
        end = self._feed.subscribe(self._changed.set)
        try:
            while True:
                self._changed.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self.interval_s * (1 - _REST)):
                        await self._changed.wait()
                        await asyncio.sleep(self.interval_s * _GATHER)
                self.tick()
                await asyncio.sleep(self.interval_s * _REST)
        finally:
            end()

    def tick(self) -> None:
        """Beat once."""
        self.count += 1
        self._beat.set()
        self._beat = asyncio.Event()

    def close(self) -> None:
        """No tick will follow: streams end."""
        self.closed = True
        self._beat.set()

    async def next(self, after: int) -> int | None:
        """The number of the first tick after number `after`, once it is there; None at the end."""
        while self.count <= after and not self.closed:
            await self._beat.wait()
        return None if self.closed else self.count


async def send_stream(
    feed: Feed, pulse: Pulse, media: str, outlet: Outlet, *, clock: Clock, stall_s: float
) -> None:
    """Send the present state, then tick by tick until the pulse ends. Raises Stalled."""
    encoder = CompactEncoder(pulse.numbers)
    first = last = pulse.count
    accepted_at = clock.monotonic()
    while True:
        if outlet.backlog() == 0:
            for message in encoder.messages(feed.snapshot()):
                numbered = _numbered(message, 1 + last - first)
                sent = packed(numbered) if media == PACKED else numbered
                await outlet.write(framed(sent, media))
            accepted_at = clock.monotonic()
        elif clock.monotonic() - accepted_at > stall_s:
            raise Stalled(f"the client has not read for {stall_s:g} s")
        count = await pulse.next(last)
        if count is None:
            return
        last = count


def _numbered(message: Message, sequence: int) -> Message:
    if isinstance(message, Tick):
        return msgspec.structs.replace(message, sequence=sequence)
    return message
