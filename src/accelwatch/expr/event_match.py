"""Which error events are meant by the pattern of a rule."""

from collections.abc import Callable, Collection
from functools import lru_cache

from accelwatch.expr.checking.tree import EventPattern, Reading, walk
from accelwatch.expr.codegen import generate
from accelwatch.expr.vocabulary.events import EVENT_KINDS, EventKind
from accelwatch.expr.vocabulary.kleene import MISSING, Key, Missing, Value
from accelwatch.schema.event import ErrorEvent, severity


# Patterns are shared by rules and ticks; generating a predicate is far slower than calling it.
@lru_cache(maxsize=4096)
def matcher(pattern: EventPattern) -> Callable[[ErrorEvent], bool]:
    """Whether an event matches a pattern; it does not where the predicate is unknown."""
    kind = EVENT_KINDS[pattern.kind]
    fits = None if pattern.predicate is None else generate(pattern.predicate)

    def matches(event: ErrorEvent) -> bool:
        if not (event.trusted or pattern.untrusted):
            return False
        if not (pattern.unlisted or is_listed(event)):
            return False
        if kind.codes and not any(_is(event.code, prefix) for prefix in kind.codes):
            return False
        return fits is None or fits(lambda key: _field(event, kind, key)) is True

    return matches


_OF_DEVICES = tuple(
    prefix for kind in EVENT_KINDS.values() if kind.of_devices for prefix in kind.codes
)


def is_listed(event: ErrorEvent) -> bool:
    """Whether an event is not what a driver says of a device that nobody lists.

    Such an event says nothing of the other devices of the node.
    """
    named = bool(event.subject) and not event.device_id
    return not (named and any(_is(event.code, prefix) for prefix in _OF_DEVICES))


def kind_of(code: str) -> EventKind | None:
    """The kind that a code belongs to; None for one that only `any` matches."""
    kinds = (kind for kind in EVENT_KINDS.values() if any(_is(code, p) for p in kind.codes))
    return next(kinds, None)


def depends_on(
    pattern: EventPattern, event: ErrorEvent, left_out: Collection[str]
) -> tuple[str, ...]:
    """Which fields that an event leaves out decide whether the pattern matches it; mostly none."""
    kind = EVENT_KINDS[pattern.kind]
    of_kind = not kind.codes or any(_is(event.code, prefix) for prefix in kind.codes)
    if pattern.predicate is None or not of_kind or not (event.trusted or pattern.untrusted):
        return ()
    # The severity of an event follows from its category.
    hidden = {*left_out, *(["severity"] if "category" in left_out else [])}

    def lookup(key: Key) -> Value | Missing:
        return MISSING if key in hidden else _field(event, kind, key)

    if generate(pattern.predicate)(lookup) is not None:
        return ()
    readings = [node for node in walk(pattern.predicate) if isinstance(node, Reading)]
    read = {str(key) for reading in readings for key in reading.keys}
    named = {"category" if key == "severity" else key for key in read}
    return tuple(sorted(named & set(left_out)))


def _is(code: str, prefix: str) -> bool:
    return code == prefix or code.startswith(prefix + "_")


def _field(event: ErrorEvent, kind: EventKind, key: Key) -> Value | Missing:
    if key == "code" and kind.numbered:
        number = event.code.rpartition("_")[2]
        return int(number) if number.isascii() and number.isdigit() else MISSING
    if key == "severity":
        return severity(event)
    if key == "listed":
        return is_listed(event)
    if key == "category":
        return event.category.value
    value: Value = getattr(event, str(key))
    return value
