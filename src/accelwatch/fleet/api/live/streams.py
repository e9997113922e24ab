"""The hub's /v1/stream for dashboards: every device's slot once, events, an array of numbers a tick.

Clients with the same request share the work: a tick is made once for each set of fields and filter, and
only while somebody listens. A client that reads slowly misses ticks and sees a gap in `sequence`.
"""

import asyncio
import contextlib
from collections.abc import Sequence

from accelwatch.base.clock import Clock
from accelwatch.base.errors import UsageError
from accelwatch.fleet.api.live.source import LiveFeed, LiveIncidents, LiveSource
from accelwatch.fleet.wire import (
    FleetHello,
)
from accelwatch.web.http.stream import (
    INCIDENT_LINES,
    INCIDENTS,
    MSGPACK,
    NDJSON,
    OFFERED,
    Outlet,
    Stalled,
    framed,
)
from accelwatch.web.pages.page import BusyError, Query, check_parameters, many

_PARAMETERS = ("filter", "fields")
# Media types of streams with incidents, to the form that their messages have.
_WITH_INCIDENTS = {INCIDENTS: MSGPACK, INCIDENT_LINES: NDJSON}
# Different streams at one time with a filter, and as many without; each costs a walk over the fleet
# a tick. Filters that are in use never keep a dashboard of the whole fleet out.
_MAX_FEEDS = 8
# Bytes written at a time: what a slow client has not read is held once for all of them.
_PIECE = 64 << 10
# Between checks of whether a slow client has read what it was sent.
_BACKLOG_POLL_S = 0.05
# Earlier events that a new client is sent.
_BACKLOG_EVENTS = 500


Key = tuple[tuple[str, ...], str]


class LiveStreams:
    """All streams of the hub; the loop's thread only."""

    offered = (*OFFERED, *_WITH_INCIDENTS)

    def __init__(
        self,
        source: LiveSource,
        clock: Clock,
        interval_s: float,
        *,
        incidents: LiveIncidents,
    ) -> None:
        self._source = source
        self._clock = clock
        self._interval_s = interval_s
        self._incidents = incidents
        # Clients that are sent incidents.
        self._subscribers = 0
        self._feeds: dict[Key, LiveFeed] = {}
        self._beat = asyncio.Event()
        self._at_once = asyncio.Event()
        self._is_closed = False

    def tick_now(self) -> None:
        """Make the next tick at once, and those after it at the interval from there."""
        self._at_once.set()

    async def run(self) -> None:
        """Make a tick for each feed at the interval until cancelled."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            due = max(due + self._interval_s, loop.time())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(due):
                    await self._at_once.wait()
                    due = loop.time()
            self._at_once.clear()
            if self._feeds:
                document = await self._source.document()
                for feed in list(self._feeds.values()):
                    await feed.make(document)
            if self._subscribers:
                await self._incidents.refresh()
            self._wake()

    def close(self) -> None:
        """Nothing will follow: streams end."""
        self._is_closed = True
        self._wake()

    def _wake(self) -> None:
        self._beat.set()
        self._beat = asyncio.Event()

    def check(self, query: Query) -> None:
        """Raise AccelwatchError for parameters that make no sense."""
        key = self._key(query)
        self._source.feed(*key)
        alike = [feed for feed in self._feeds if bool(feed[1]) == bool(key[1])]
        if key not in self._feeds and len(alike) >= _MAX_FEEDS:
            what = "filters" if key[1] else "sets of fields"
            raise BusyError(
                f"{_MAX_FEEDS} streams with other {what} are open, and that is the most"
            )

    def _key(self, query: Query) -> Key:
        check_parameters(query, _PARAMETERS)
        filters = query.get("filter", ())
        if len(filters) > 1:
            raise UsageError("filter is given twice")
        return tuple(many(query, "fields")), filters[0] if filters else ""

    async def send(self, media: str, outlet: Outlet, query: Query, stall_s: float) -> None:
        """Send the present state, then tick by tick until the end. Raises Stalled."""
        key = self._key(query)
        feed = self._feeds.get(key)
        if feed is None:
            feed = self._feeds[key] = self._source.feed(*key)
        form = _WITH_INCIDENTS.get(media)
        feed.clients += 1
        self._subscribers += form is not None
        try:
            if not feed.ticks.sequence:
                await feed.start()  # what it needs is decoded once, for the sums and for it
                await feed.make(await self._source.document())
            if form is not None:
                await self._incidents.refresh()
            await self._send(feed, form or media, outlet, stall_s, incidents=form is not None)
        finally:
            self._subscribers -= form is not None
            feed.clients -= 1
            if not feed.clients:
                self._feeds.pop(key, None)
                feed.close()

    async def _send(
        self, feed: LiveFeed, media: str, outlet: Outlet, stall_s: float, *, incidents: bool
    ) -> None:
        hello = FleetHello(interval_s=self._interval_s, fields=feed.fields)
        await outlet.write(framed(hello, media))
        sent = notified = 0
        noted = max(0, feed.last_event - _BACKLOG_EVENTS)
        progress_at = self._clock.monotonic()
        while not self._is_closed:
            beat = self._beat
            if feed.ticks.sequence > sent and outlet.backlog() == 0:
                incident_frames: Sequence[bytes] = ()
                if incidents:
                    incident_frames, notified = await self._incidents.frames(media, notified)
                chunks = (
                    *feed.ticks.changes(media, sent),
                    feed.events(media, noted),
                    *incident_frames,
                    feed.ticks.frame(media),
                )
                sent, noted = feed.ticks.sequence, feed.last_event
                for chunk in chunks:
                    for at in range(0, len(chunk), _PIECE):
                        await outlet.write(chunk[at : at + _PIECE])
                progress_at = self._clock.monotonic()
            elif self._clock.monotonic() - progress_at > stall_s:
                raise Stalled(f"the client has not read for {stall_s:g} s")
            # Who has still to read the tick before gets this one as soon as he has, if no other comes.
            behind = feed.ticks.sequence > sent
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_BACKLOG_POLL_S if behind else None):
                    await beat.wait()
