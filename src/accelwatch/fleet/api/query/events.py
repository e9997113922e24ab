"""/v1/events: the fleet's error events, newest first, page by page, filtered."""

from collections.abc import Callable, Iterable, Mapping

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


def events_page(
    fleet: Fleet,
    *,
    since: float | None,
    node: str | None,
    expression: Expression | None,
    cursor: str | None,
    limit: int,
) -> EventsPage:
    """The newest events that fit, from before the cursor. Raises UsageError for a bad cursor."""
    start = position_of(cursor)[1] if cursor else fleet.events.last + 1
    events: list[FleetEvent] = []
    for noted in fleet.events.before(start):
        if len(events) >= limit:
            next_page = cursor_of(("", events[-1].sequence, ""))
            return EventsPage(events=tuple(map(_answered, events)), next=next_page)
        matches = (node is None or noted.node == node) and (
            since is None or noted.event.time >= since
        )
        if matches:
            row = event_row(noted)
            if (
                expression is None
                or expression.evaluate(_lookup(row, _labels(fleet, noted.node))) is True
            ):
                events.append(row)
    return EventsPage(events=tuple(map(_answered, events)), next=None)


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
