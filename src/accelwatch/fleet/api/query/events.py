"""/v1/events: the fleet's error events, newest first, page by page, filtered."""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from accelwatch.base.durations import is_duration, seconds
from accelwatch.base.errors import UsageError, WireError
from accelwatch.expr import MISSING, Expression, Key, Missing, NameTable, Type, Value
from accelwatch.fleet.api.query.names import compiled
from accelwatch.fleet.api.query.rows import cursor_of, position_of
from accelwatch.fleet.documents.fleet import EventRow, EventsPage
from accelwatch.fleet.state.events import Noted
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.wire import FleetEvent
from accelwatch.schema.event import SEVERITIES, Category, severity
from accelwatch.schema.timestamps import timestamp_or_none, unix_seconds
from accelwatch.web.pages.page import Query, limit_of, only
from accelwatch.web.pages.routes import Parameter

_NAMES = ("node", "device", "name", "code", "category", "severity", "source", "subject", "text")
# What `parse_start` reads.
SINCE = Parameter("since", "A time (Unix seconds or RFC 3339), or how long ago (`30m`).")
# A bare number from here is a time, below it a duration: 1973, or three years ago.
_UNIX_S = 1e8


def event_row(noted: Noted) -> FleetEvent:
    """An event as the stream has it."""
    event = noted.event
    return FleetEvent(
        sequence=noted.sequence,
        node=noted.node,
        device=event.device_id,
        name=noted.name,
        code=event.code,
        category=event.category.value,
        severity=severity(event),
        time=event.time,
        text=event.text,
        source=event.source,
        subject=event.subject,
        trusted=event.trusted,
    )


def _answered(event: FleetEvent) -> EventRow:
    """The event as a page has it: null where the stream has an empty word, its time RFC 3339."""
    return EventRow(
        sequence=event.sequence,
        node=event.node,
        device=event.device or None,
        name=event.name or None,
        code=event.code,
        category=event.category,
        severity=event.severity,
        time=timestamp_or_none(event.time),
        text=event.text,
        source=event.source,
        subject=event.subject or None,
        trusted=event.trusted,
    )


def event_condition(text: str, labels: Iterable[str]) -> Expression:
    """A filter over events and the labels of their nodes. Raises ExpressionError, UsageError."""
    names = dict.fromkeys((*sorted(labels), *_NAMES), Type.STRING)
    values = {"category": tuple(Category), "severity": SEVERITIES}
    return compiled(text, NameTable(identity=names, rows={}, values=values))


def parse_start(text: str, now: float) -> float:
    """`since` as Unix seconds: a time (Unix seconds, RFC 3339) or how long ago. Raises UsageError."""
    if is_duration(text):
        number = seconds(text)
        return number if number >= _UNIX_S else now - number
    try:
        return unix_seconds(text)
    except WireError as error:
        message = "since: a time (Unix seconds or 2030-01-31T12:00:00Z) or how long ago (30m, 2h)"
        raise UsageError(message) from error


class EventQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which events are requested."""

    # Unix seconds.
    since: float | None = None
    node: str | None = None
    expression: Expression | None = None
    cursor: str | None = None
    limit: int

    @property
    def before(self) -> int | None:
        """Only events with a smaller number; None for all. Raises UsageError for a bad cursor."""
        return position_of(self.cursor)[1] if self.cursor else None

    def matches(self, node: str, time: float) -> bool:
        """Whether an event is of the node and the time."""
        of_node = self.node is None or node == self.node
        return of_node and (self.since is None or time >= self.since)


def events_page(fleet: Fleet, query: EventQuery) -> EventsPage:
    """The newest events that fit, from before the cursor. Raises UsageError for a bad cursor."""
    before = query.before
    noted = fleet.events.before(fleet.events.last + 1 if before is None else before)
    rows = (event_row(event) for event in noted if query.matches(event.node, event.event.time))
    return page_of(rows, query, lambda node: _labels(fleet, node))


def page_of(
    events: Iterable[FleetEvent], query: EventQuery, labels: Callable[[str], Mapping[str, str]]
) -> EventsPage:
    """As many as requested of those for which the condition holds; they come newest first."""
    chosen: list[FleetEvent] = []
    for row in events:
        if len(chosen) >= query.limit:
            next_page = cursor_of(("", chosen[-1].sequence, ""))
            return EventsPage(events=tuple(map(_answered, chosen)), next=next_page)
        expression = query.expression
        if expression is None or expression.evaluate(_lookup(row, labels(row.node))) is True:
            chosen.append(row)
    return EventsPage(events=tuple(map(_answered, chosen)), next=None)


def event_query(query: Query, now: float, labels: Iterable[str]) -> EventQuery:
    """The query parameters of `/v1/events`. Raises ExpressionError, UsageError."""
    since, text = only(query, "since"), only(query, "filter")
    return EventQuery(
        since=None if since is None else parse_start(since, now),
        node=only(query, "node"),
        expression=event_condition(text, labels) if text else None,
        cursor=only(query, "cursor"),
        limit=limit_of(query),
    )


def _labels(fleet: Fleet, node: str) -> Mapping[str, str]:
    registered = fleet.nodes.get(node)
    return {} if registered is None else registered.labels


def _lookup(row: FleetEvent, labels: Mapping[str, str]) -> Callable[[Key], Value | Missing]:
    def value(key: Key) -> Value | Missing:
        if key in _NAMES:
            text: str = getattr(row, str(key))
            return text
        return labels.get(str(key), MISSING)

    return value
