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
from accelwatch.fleet.api.incidents.incident_feed import IncidentFeed
from accelwatch.fleet.api.query.choosing import chosen, series_of, subject_at
from accelwatch.fleet.api.query.events import event_row
from accelwatch.fleet.api.query.names import Column, all_series, columns, condition
from accelwatch.fleet.api.query.showing import shown
from accelwatch.fleet.api.query.totals import Totals
from accelwatch.fleet.api.query.written import identity_fields
from accelwatch.fleet.api.summaries import fleet_document
from accelwatch.fleet.names import SPEAKING
from accelwatch.fleet.state.events import Noted
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.fleet_status import AT_ONCE, FleetStatus, refresh_nodes, status_of
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.fleet.state.rows.table import Indices
from accelwatch.fleet.table.rows import grown
from accelwatch.fleet.table.state_codes import HEALTHS, STATE, STATES
from accelwatch.fleet.wire import (
    DeviceNow,
    DeviceSlot,
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
from accelwatch.web.pages.page import BusyError, Query, check_parameters, many

_PARAMETERS = ("filter", "fields")
# Media types of streams with incidents, to the form that their messages have.
_WITH_INCIDENTS = {INCIDENTS: MSGPACK, INCIDENT_LINES: NDJSON}
# Characters of why a node is not heard, in every tick.
_MAX_WHY = 200
# Different streams at one time with a filter, and as many without; each costs a walk over the fleet
# a tick. Filters that are in use never keep a dashboard of the whole fleet out.
_MAX_FEEDS = 8
# Devices after which the loop may do something else.
_DEVICES_AT_ONCE = 500
# Bytes handed over at a time: what a slow client has not taken is held once for all of them.
_PIECE = 64 << 10
# Between looks at whether a slow client has taken what it was sent.
_BACKLOG_POLL_S = 0.05
# Events of before that a new client is told.
_PAST_EVENTS = 500

_UNREACHABLE = STATE["unreachable"]

Key = tuple[tuple[str, ...], str]


class Feed:
    """Ticks for one set of fields and filter."""

    def __init__(self, columns: tuple[Column, ...], expression: Expression | None) -> None:
        self.columns = columns
        self.clients = 0
        self.sequence = 0
        self.tick: FleetTick | None = None
        # Slot to the sequence at which it was last changed, and its device.
        self.devices: dict[int, tuple[int, DeviceSlot]] = {}
        self._expression = expression
        self._series = [*all_series(columns), *series_of(expression)]
        # By row, what the table's `changed` was when its place was told.
        self._announced_versions: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)
        # Frames of the present tick by media type, and changes by media type and last sequence:
        # encoded once for all viewers, void with the next tick.
        self._frames: dict[str, bytes] = {}
        self._changes: dict[tuple[str, int], list[bytes]] = {}
        # Sequence at which a place was last changed.
        self._changed_sequence = 0
        # Making a tick yields to the loop. A second one meanwhile would give out the same sequence
        # number twice, and viewers would miss a change.
        self._making = asyncio.Lock()

    def request_series(self, fleet: Fleet) -> None:
        """Have its numbers among those that are next decoded, for whomever that is."""
        fleet.table.planes.request(self._series, fleet.clock.monotonic())

    async def make(self, fleet: Fleet, document: FleetDocument) -> None:
        """Make the next tick; one at a time."""
        async with self._making:
            await self._make(fleet, document)

    async def _make(self, fleet: Fleet, document: FleetDocument) -> None:
        sequence = self.sequence + 1
        devices: list[DeviceNow] = []
        nodes: list[NodeNow] = []
        work = LongWork()
        ready = await refresh_nodes(fleet, self._series, work.rest)
        await fleet.odd.refresh(work)
        for at in range(0, len(ready), AT_ONCE):
            batch = ready[at : at + AT_ONCE]
            nodes += [_node_now(fleet, node) for node in batch]
            devices += self._now(fleet, status_of(fleet, batch), sequence)
            await work.rest()
        self.tick = FleetTick(
            sequence=sequence,
            time=fleet.clock.wall(),
            fleet=document,
            nodes=tuple(nodes),
            devices=tuple(devices),
        )
        self.sequence = sequence
        self._frames, self._changes = {}, {}

    def _now(self, fleet: Fleet, now: FleetStatus, sequence: int) -> list[DeviceNow]:
        at = np.flatnonzero(chosen(fleet, now, self._expression))
        if not len(at):
            return []
        table, rows, state = fleet.table, now.rows[at], now.state[at]
        self._update_devices(fleet, now, at, sequence)
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

    def _update_devices(self, fleet: Fleet, now: FleetStatus, at: Indices, sequence: int) -> None:
        """Who stands in the rows that have changed since they were told."""
        table, rows = fleet.table, now.rows[at]
        self._announced_versions = grown(self._announced_versions, table.rows.size, -1)
        for position in np.flatnonzero(
            self._announced_versions[rows] != table.changed[rows]
        ).tolist():
            row = int(rows[position])
            identity = identity_fields(subject_at(fleet, now, int(at[position])))
            before = self.devices.get(row)
            current = DeviceSlot(slot=row, **identity)
            self._announced_versions[row] = table.changed[row]
            if before is None or before[1] != current:
                self.devices[row] = sequence, current
                self._changed_sequence = sequence

    def changes(self, media: str, after: int) -> Sequence[bytes]:
        """Places that changed after a tick as bytes, made once for all who saw that tick last."""
        if after >= self._changed_sequence:
            return ()
        if (media, after) not in self._changes:
            changed = [message for sequence, message in self.devices.values() if sequence > after]
            self._changes[media, after] = [
                b"".join(
                    [framed(message, media) for message in changed[at : at + _DEVICES_AT_ONCE]]
                )
                for at in range(0, len(changed), _DEVICES_AT_ONCE)
            ]
        return self._changes[media, after]

    def shows(self, fleet: Fleet, noted: Noted) -> bool:
        """Whether an event is of this stream: with a filter, of a device that it has let through."""
        if self._expression is None:
            return True
        row = fleet.table.rows.get((noted.node, noted.event.device_id))
        shown = None if row is None else self.devices.get(row)
        return shown is not None and shown[1].node == noted.node

    def frame(self, media: str) -> bytes:
        """The tick as bytes, made once for all clients."""
        if media not in self._frames and self.tick is not None:
            self._frames[media] = framed(self.tick, media)
        return self._frames.get(media, b"")


def _node_now(fleet: Fleet, node: Node) -> NodeNow:
    slots = fleet.table.slots_of(node.name)
    gone = slots.missing if slots is not None and node.best is not None else 0
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
        incidents: IncidentFeed,
    ) -> None:
        self._fleet = fleet
        self._clock = clock
        self._sums = sums
        self._labels = labels
        self._interval_s = interval_s
        self._incidents = incidents
        # Clients that are told of incidents.
        self._subscribers = 0
        self._feeds: dict[Key, Feed] = {}
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
                document = fleet_document(self._fleet, await self._sums())
                for feed in list(self._feeds.values()):
                    await feed.make(self._fleet, document)
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
        self._feed(key)
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

    def _feed(self, key: Key) -> Feed:
        fields, text = key
        expression = condition(text, self._labels()) if text else None
        return Feed(columns(fields), expression)

    async def send(self, media: str, outlet: Outlet, query: Query, stall_s: float) -> None:
        """Send the present state, then tick by tick until the end. Raises Stalled."""
        key = self._key(query)
        feed = self._feeds.get(key)
        if feed is None:
            feed = self._feeds[key] = self._feed(key)
        form = _WITH_INCIDENTS.get(media)
        feed.clients += 1
        self._subscribers += form is not None
        try:
            if feed.tick is None:
                feed.request_series(self._fleet)  # decoded once, for the sums and for it
                await feed.make(self._fleet, fleet_document(self._fleet, await self._sums()))
            if form is not None:
                await self._incidents.refresh()
            await self._send(feed, form or media, outlet, stall_s, incidents=form is not None)
        finally:
            self._subscribers -= form is not None
            feed.clients -= 1
            if not feed.clients:
                self._feeds.pop(key, None)

    async def _send(
        self, feed: Feed, media: str, outlet: Outlet, stall_s: float, *, incidents: bool
    ) -> None:
        fields = tuple(name for name, _ in feed.columns)
        await outlet.write(framed(FleetHello(interval_s=self._interval_s, fields=fields), media))
        sent = notified = 0
        noted = max(0, self._fleet.events.last - _PAST_EVENTS)
        progress_at = self._clock.monotonic()
        while not self._is_closed:
            beat = self._beat
            if feed.sequence > sent and outlet.backlog() == 0:
                incident_frames: Sequence[bytes] = ()
                if incidents:
                    incident_frames, notified = await self._incidents.frames(media, notified)
                events = self._fleet.events.after(noted)
                event_frames = b"".join(
                    [
                        framed(event_row(event), media)
                        for event in events
                        if feed.shows(self._fleet, event)
                    ]
                )
                chunks = (
                    *feed.changes(media, sent),
                    event_frames,
                    *incident_frames,
                    feed.frame(media),
                )
                sent, noted = feed.sequence, self._fleet.events.last
                for chunk in chunks:
                    for at in range(0, len(chunk), _PIECE):
                        await outlet.write(chunk[at : at + _PIECE])
                progress_at = self._clock.monotonic()
            elif self._clock.monotonic() - progress_at > stall_s:
                raise Stalled(f"the client has not read for {stall_s:g} s")
            # Who has still to read the tick before gets this one as soon as he has, if no other comes.
            behind = feed.sequence > sent
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_BACKLOG_POLL_S if behind else None):
                    await beat.wait()
