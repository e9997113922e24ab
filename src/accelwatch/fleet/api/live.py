"""The hub's /v1/stream for dashboards: every device's place once, events, an array of numbers a tick.

Clients that ask for the same share the work: a tick is made once for each set of fields and filter, and
only while somebody listens. A client that reads slowly misses ticks and sees a gap in `sequence`.
"""

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
import numpy.typing as npt

from accelwatch.base.clock import Clock
from accelwatch.base.errors import UsageError
from accelwatch.base.slices import LongWork
from accelwatch.expr import Expression
from accelwatch.fleet.api.choosing import chosen, series_of, subject_at
from accelwatch.fleet.api.events import event_row
from accelwatch.fleet.api.incident_news import IncidentNews
from accelwatch.fleet.api.names import Column, all_series, columns, condition
from accelwatch.fleet.api.showing import shown
from accelwatch.fleet.api.summaries import fleet_document
from accelwatch.fleet.api.totals import Totals
from accelwatch.fleet.api.written import place
from accelwatch.fleet.names import SPEAKING
from accelwatch.fleet.state.events import Noted
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.moment import AT_ONCE, Moment, brought, moment
from accelwatch.fleet.state.node import Node
from accelwatch.fleet.state.table import Places
from accelwatch.fleet.table.rows import grown
from accelwatch.fleet.table.words import HEALTHS, STATE, STATES
from accelwatch.fleet.wire import (
    DeviceNow,
    DevicePlace,
    FleetDocument,
    FleetHello,
    FleetTick,
    NodeNow,
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
from accelwatch.web.pages.page import BusyError, Query, ask_again, many

_PARAMETERS = ("filter", "fields")
_WITH_INCIDENTS = {INCIDENTS: MSGPACK, INCIDENT_LINES: NDJSON}
"""Media types of streams with incidents, to the form that their messages have."""
_MAX_WHY = 200
"""Characters of why a node is not heard, in every tick."""
_MAX_FEEDS = 8
"""Different streams at one time with a filter, and as many without; each costs a walk over the fleet
a tick. Filters that are in use never keep a dashboard of the whole fleet out."""
_PLACES_AT_ONCE = 500
"""Devices after which the loop may do something else."""
_PIECE = 64 << 10
"""Bytes handed over at a time: what a slow client has not taken is held once for all of them."""
_TAKEN_LOOK_S = 0.05
"""Between looks at whether a slow client has taken what it was sent."""
_PAST_EVENTS = 500
"""Events of before that a new client is told."""

_UNREACHABLE = STATE["unreachable"]

Key = tuple[tuple[str, ...], str]


class Feed:
    """Ticks for one set of fields and filter."""

    def __init__(self, columns: tuple[Column, ...], wanted: Expression | None) -> None:
        self.columns = columns
        self.clients = 0
        self.sequence = 0
        self.tick: FleetTick | None = None
        self.places: dict[int, tuple[int, DevicePlace]] = {}
        """Slot to the sequence at which it was last changed, and its device."""
        self._wanted = wanted
        self._series = [*all_series(columns), *series_of(wanted)]
        self._placed_as: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)
        """By row, what the table's `changed` was when its place was told."""
        self._frames: dict[str, bytes] = {}
        self._news: dict[tuple[str, int], list[bytes]] = {}
        self._placed = 0
        """Sequence at which a place was last changed."""
        self._making = asyncio.Lock()

    def want(self, fleet: Fleet) -> None:
        """Have its numbers among those that are next decoded, for whomever that is."""
        fleet.table.planes.want(self._series, fleet.clock.monotonic())

    async def make(self, fleet: Fleet, document: FleetDocument) -> None:
        """Make the next tick; one at a time."""
        async with self._making:
            await self._make(fleet, document)

    async def _make(self, fleet: Fleet, document: FleetDocument) -> None:
        sequence = self.sequence + 1
        devices: list[DeviceNow] = []
        nodes: list[NodeNow] = []
        work = LongWork()
        known = await brought(fleet, self._series, work.rest)
        await fleet.odd.bring(work)
        for at in range(0, len(known), AT_ONCE):
            part = known[at : at + AT_ONCE]
            nodes += [_node_now(fleet, node) for node in part]
            devices += self._now(fleet, moment(fleet, part), sequence)
            await work.rest()
        self.tick = FleetTick(
            sequence=sequence,
            time=fleet.clock.wall(),
            fleet=document,
            nodes=tuple(nodes),
            devices=tuple(devices),
        )
        self.sequence = sequence
        self._frames, self._news = {}, {}

    def _now(self, fleet: Fleet, now: Moment, sequence: int) -> list[DeviceNow]:
        at = np.flatnonzero(chosen(fleet, now, self._wanted))
        if not len(at):
            return []
        table, rows, state = fleet.table, now.rows[at], now.state[at]
        self._tell_places(fleet, now, at, sequence)
        ages = [None if math.isnan(age) else age for age in now.age_s[at].tolist()]
        return list(
            map(
                DeviceNow,
                rows.tolist(),
                [STATES[code] for code in state.tolist()],
                [HEALTHS[code] for code in now.health[at].tolist()],
                ages,
                zip(*shown(table, rows, state == _UNREACHABLE, self.columns), strict=True),
            )
        )

    def _tell_places(self, fleet: Fleet, now: Moment, at: Places, sequence: int) -> None:
        """Who stands in the rows that have changed since they were told."""
        table, rows = fleet.table, now.rows[at]
        self._placed_as = grown(self._placed_as, table.rows.size, -1)
        for place_of in np.flatnonzero(self._placed_as[rows] != table.changed[rows]).tolist():
            row = int(rows[place_of])
            identity = place(subject_at(fleet, now, int(at[place_of])))
            before = self.places.get(row)
            current = DevicePlace(slot=row, **identity)
            self._placed_as[row] = table.changed[row]
            if before is None or before[1] != current:
                self.places[row] = sequence, current
                self._placed = sequence

    def news(self, media: str, after: int) -> Sequence[bytes]:
        """Places that changed after a tick as bytes, made once for all who saw that tick last."""
        if after >= self._placed:
            return ()
        if (media, after) not in self._news:
            changed = [message for sequence, message in self.places.values() if sequence > after]
            self._news[media, after] = [
                b"".join([framed(message, media) for message in changed[at : at + _PLACES_AT_ONCE]])
                for at in range(0, len(changed), _PLACES_AT_ONCE)
            ]
        return self._news[media, after]

    def shows(self, fleet: Fleet, noted: Noted) -> bool:
        """Whether an event is of this stream: with a filter, of a device that it has let through."""
        if self._wanted is None:
            return True
        row = fleet.table.rows.get((noted.node, noted.event.device_id))
        shown = None if row is None else self.places.get(row)
        return shown is not None and shown[1].node == noted.node

    def frame(self, media: str) -> bytes:
        """The tick as bytes, made once for all clients."""
        if media not in self._frames and self.tick is not None:
            self._frames[media] = framed(self.tick, media)
        return self._frames.get(media, b"")


def _node_now(fleet: Fleet, node: Node) -> NodeNow:
    seats = fleet.table.seats(node.name)
    gone = seats.missing if seats is not None and node.best is not None else 0
    state = fleet.state_of(node)
    why = _what_is_unread(node) if state in SPEAKING else node.why_silent[:_MAX_WHY]
    odd = fleet.odd.of(node.name)
    return NodeNow(node.name, state.value, fleet.age_of(node), gone, why, odd)


def _what_is_unread(node: Node) -> str:
    return "; ".join(backend.complaint for backend in node.unusable)[:_MAX_WHY]


class LiveStreams:
    """All streams of the hub; the loop's thread only."""

    offered = (*OFFERED, *_WITH_INCIDENTS)

    def __init__(
        self,
        fleet: Fleet,
        clock: Clock,
        sums: Callable[[], Awaitable[Totals]],
        labels: Callable[[], set[str]],
        interval_s: float,
        *,
        incidents: IncidentNews,
    ) -> None:
        self._fleet = fleet
        self._clock = clock
        self._sums = sums
        self._labels = labels
        self._interval_s = interval_s
        self._incidents = incidents
        self._hearing = 0
        """Clients that are told of incidents."""
        self._feeds: dict[Key, Feed] = {}
        self._beat = asyncio.Event()
        self._at_once = asyncio.Event()
        self._ended = False

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
                document = fleet_document(self._fleet, await self._sums())
                for feed in list(self._feeds.values()):
                    await feed.make(self._fleet, document)
            if self._hearing:
                await self._incidents.look()
            self._wake()

    def end(self) -> None:
        """Nothing will follow: streams end."""
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        self._beat.set()
        self._beat = asyncio.Event()

    def check(self, query: Query) -> None:
        """Raise AccelwatchError for parameters that make no sense."""
        key = self._key(query)
        self._feed(key)
        alike = [feed for feed in self._feeds if bool(feed[1]) == bool(key[1])]
        if key not in self._feeds and len(alike) >= _MAX_FEEDS:
            what = "filters" if key[1] else "sets of fields"
            raise BusyError(
                f"{_MAX_FEEDS} streams with other {what} are open, and that is the most"
            )

    def _key(self, query: Query) -> Key:
        ask_again(query, _PARAMETERS)
        filters = query.get("filter", ())
        if len(filters) > 1:
            raise UsageError("filter is given twice")
        return tuple(many(query, "fields")), filters[0] if filters else ""

    def _feed(self, key: Key) -> Feed:
        fields, text = key
        wanted = condition(text, self._labels()) if text else None
        return Feed(columns(fields), wanted)

    async def send(self, media: str, outlet: Outlet, query: Query, stall_s: float) -> None:
        """Send the present state, then tick by tick until the end. Raises Stalled."""
        key = self._key(query)
        feed = self._feeds.get(key)
        if feed is None:
            feed = self._feeds[key] = self._feed(key)
        form = _WITH_INCIDENTS.get(media)
        feed.clients += 1
        self._hearing += form is not None
        try:
            if feed.tick is None:
                feed.want(self._fleet)  # decoded once, for the sums and for it
                await feed.make(self._fleet, fleet_document(self._fleet, await self._sums()))
            if form is not None:
                await self._incidents.look()
            await self._send(feed, form or media, outlet, stall_s, incidents=form is not None)
        finally:
            self._hearing -= form is not None
            feed.clients -= 1
            if not feed.clients:
                self._feeds.pop(key, None)

    async def _send(
        self, feed: Feed, media: str, outlet: Outlet, stall_s: float, *, incidents: bool
    ) -> None:
        fields = tuple(name for name, _ in feed.columns)
        await outlet.write(framed(FleetHello(interval_s=self._interval_s, fields=fields), media))
        sent = heard = 0
        noted = max(0, self._fleet.events.last - _PAST_EVENTS)
        taken_at = self._clock.monotonic()
        while not self._ended:
            beat = self._beat
            if feed.sequence > sent and outlet.backlog() == 0:
                news: Sequence[bytes] = ()
                if incidents:
                    news, heard = await self._incidents.frames(media, heard)
                events = self._fleet.events.after(noted)
                event_frames = b"".join(
                    [
                        framed(event_row(event), media)
                        for event in events
                        if feed.shows(self._fleet, event)
                    ]
                )
                whole = (*feed.news(media, sent), event_frames, *news, feed.frame(media))
                sent, noted = feed.sequence, self._fleet.events.last
                for part in whole:
                    for at in range(0, len(part), _PIECE):
                        await outlet.write(part[at : at + _PIECE])
                taken_at = self._clock.monotonic()
            elif self._clock.monotonic() - taken_at > stall_s:
                raise Stalled(f"the client has not read for {stall_s:g} s")
            # Who has still to read the tick before gets this one as soon as he has, if no other comes.
            behind = feed.sequence > sent
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_TAKEN_LOOK_S if behind else None):
                    await beat.wait()
