"""Following one target for as long as it is one: stream, or poll, wait after a failure, again."""

import asyncio
import math
import random
from collections.abc import Callable
from typing import Protocol

from accelwatch.base.backoff import SpreadBackoff
from accelwatch.fleet.follow.failures.faults import NotOurs, Reason, TargetFault
from accelwatch.fleet.follow.frames import RawTick, Received
from accelwatch.fleet.follow.pages import Pages
from accelwatch.fleet.follow.poll import Exposed, PacedReader, ReadExposition, poll
from accelwatch.fleet.follow.session import Client
from accelwatch.fleet.follow.stream import Stream
from accelwatch.fleet.follow.target_client import target_client
from accelwatch.fleet.target import Target
from accelwatch.web.http.stream import STREAM

_TOGETHER = 12
# Rounds are never further apart.
_APART_S = 1.0
# How long a target that did not stream is polled before its stream is tried again.
_STREAM_AGAIN_S = 300.0
# The same for an agent that has no room for another stream.
_ROOM_AGAIN_S = 60.0
# A stream that breaks sooner was not well: if it breaks after each first tick, retries get rarer.
_STEADY_S = 5.0
_UNAVAILABLE = 503
MakeReader = Callable[[Target], ReadExposition]


class Following(Protocol):
    """Follows one target."""

    async def run(self) -> None:
        """Follow until cancelled."""
        ...


# Of a target that is not reached over HTTP; None for one that is.
MakeFollowing = Callable[[Target], Following | None]


class Rounds:
    """When targets are polled: moments of the loop all over the interval, a dozen polls at a time.

    A poll right after another costs half of one by itself, for what it needs is still in the caches; a
    dozen last no longer than anybody may have to wait.
    """

    def __init__(self) -> None:
        self.targets = 0
        self._pick = random.Random()  # noqa: S311 - spreads load, keeps no secret

    def any(self, now: float, interval_s: float) -> float:
        """The moment of some round within the next interval."""
        return self.nearest(now + self._pick.uniform(0.0, interval_s), interval_s)

    def nearest(self, timestamp: float, interval_s: float) -> float:
        """The moment of the round nearest to this one."""
        count = max(math.ceil(self.targets / _TOGETHER), math.ceil(interval_s / _APART_S))
        apart_s = interval_s / count
        return round(timestamp / apart_s) * apart_s


class Sink(Protocol):
    """The receiver of a target's data."""

    def started(self, target: Target, mode: str) -> None:
        """A connection is being made to `stream` or `poll`."""
        ...

    def message(self, target: Target, message: Received, size: int) -> None:
        """A message of a stream. Raises TargetFault."""
        ...

    def exposed(self, target: Target, exposed: Exposed, duration_s: float) -> None:
        """An exposition."""
        ...

    def failed(self, target: Target, fault: TargetFault) -> None:
        """An attempt failed."""
        ...


class Follower:
    """Follows one target. Its reader lasts: it knows the devices of a target that cannot name them."""

    def __init__(
        self,
        client: Client,
        target: Target,
        sink: Sink,
        make_reader: MakeReader | None,
        rounds: Rounds,
    ) -> None:
        self._client = client
        self._target = target
        self._http = target_client(client, target)
        self._pages = Pages(self._http, target.metrics_url, client.scrape)
        self._sink = sink
        self._backoff = SpreadBackoff(client.scrape.max_backoff_s)
        self._reading: PacedReader | None = None
        if make_reader is not None:
            self._reading = PacedReader(make_reader(target), client.reading)
        self._rounds = rounds
        self._poll_until = 0.0
        self._streaming = True
        self._started_at = 0.0
        # Whether nothing has failed since it was last read.
        self._is_well = False
        # Whether it is still unknown if it has a stream.
        self._is_new = client.scrape.mode == "auto"

    async def run(self) -> None:
        """Follow until cancelled."""
        try:
            await self._run()
        finally:
            self._http.close()
            self._client.failures.forget(self._target)

    async def _run(self) -> None:
        mode = self._client.scrape.mode
        if mode == "poll":
            # Only this time distinguishes streaming from polling: before it the target is
            # polled.
            self._poll_until = float("inf")
        elif self._is_new and self._client.first_request.page:
            self._poll_until = asyncio.get_running_loop().time() + _STREAM_AGAIN_S
        while True:
            try:
                if asyncio.get_running_loop().time() < self._poll_until:
                    await self._poll()
                else:
                    await self._stream()
            except TargetFault as fault:
                if self._is_new:
                    self._poll_until = 0.0  # who has no page may have a stream
                await self._failed(fault)

    def _turned_out(self, *, streams: bool) -> None:
        if self._is_new:
            self._is_new = False
            self._client.first_request.record_outcome(streams=streams)

    async def _failed(self, fault: TargetFault) -> None:
        self._is_well = False
        if self._client.scrape.mode == "auto" and self._streaming:
            now = asyncio.get_running_loop().time()
            # Neither is a failure: there is a page to poll, so nothing is reported nor paused.
            if isinstance(fault, NotOurs):
                self._turned_out(streams=False)
                self._poll_until = now + _STREAM_AGAIN_S
                return
            if fault.code == _UNAVAILABLE:  # as many streams as the agent allows
                self._turned_out(streams=True)
                self._poll_until = now + max(_ROOM_AGAIN_S, fault.retry_after_s or 0.0)
                return
        self._sink.failed(self._target, fault)
        self._client.failures.failed(self._target, fault)
        # Spread, so that targets that failed together do not come back together.
        await asyncio.sleep(self._backoff.next(fault.retry_after_s))

    async def _stream(self) -> None:
        self._streaming = True
        self._started_at = asyncio.get_running_loop().time()
        self._sink.started(self._target, "stream")
        stream = Stream(
            self._http, self._target.url(STREAM), self._client.scrape, self._client.hello
        )
        await stream.follow(self._receive)

    def _receive(self, message: Received, size: int) -> None:
        self._sink.message(self._target, message, size)
        if self._is_new:
            self._turned_out(streams=True)
        if not self._is_well and isinstance(message, RawTick):
            self._ticked()

    def _ticked(self) -> None:
        # A target that breaks after each first tick must not begin at the shortest pause every time.
        if asyncio.get_running_loop().time() - self._started_at >= _STEADY_S:
            self._well()

    def _well(self) -> None:
        if self._is_well:
            return
        self._is_well = True
        self._backoff.succeeded()
        self._client.failures.recovered(self._target)

    async def _poll(self) -> None:
        """Poll at the interval until it fails or the stream is to be tried again."""
        loop = asyncio.get_running_loop()
        interval_s = self._client.scrape.interval_s
        self._streaming = False
        self._sink.started(self._target, "poll")
        if self._reading is None:
            raise TargetFault(Reason.GARBAGE, "answers, but is not an accelwatch agent")
        due = loop.time()
        following = self._rounds.any(due, interval_s)
        while due < self._poll_until:
            await asyncio.sleep(due - loop.time())
            exposed, duration_s = await poll(self._pages, self._reading)
            self._sink.exposed(self._target, exposed, duration_s)
            self._well()
            # Its page says that it is an agent with a stream: no need to wait for the next trial.
            if self._is_new and exposed.streams:
                self._poll_until = 0.0
                return
            self._turned_out(streams=False)
            # A poll that outlasted its interval leaves rounds out: catching up would overload
            # who is slow.
            due = max(following, loop.time())
            following = self._rounds.nearest(due + interval_s, interval_s)
