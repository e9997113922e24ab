"""Events as the agents count them: by device, code and category, with the time of the last."""

from accelwatch.expr.checking.tree import (
    Comparison,
    Constant,
    Event,
    Items,
    Logic,
    Node,
    Reading,
    walk,
)
from accelwatch.expr.codegen import generate
from accelwatch.expr.promql.place import DEVICE, Place
from accelwatch.expr.promql.query import (
    PromqlError,
    Query,
    Truth,
    called,
    constant,
    duration,
    joined,
    literal_pattern,
    quoted,
    without,
)
from accelwatch.expr.vocabulary.events import EVENT_KINDS, EventKind, EventUse
from accelwatch.expr.vocabulary.kleene import MISSING, Key, Missing, Value
from accelwatch.schema.event import Category, ErrorEvent, severity

_LABELS = ("code", "category")
_LAST, _TOTAL = "error_event_last_timestamp_seconds", "error_events_total"
_OF_NODES = frozenset(
    {
        *("boot", "device", "disk", "heat", "kernel", "nfs", "node", "oom"),
        *("alertmanager", "evidence"),
    }
)
"""Kinds of events that agents do not count on a device."""


def happened(node: Event, place: Place) -> Truth:
    """Whether there was an event lately. Raises PromqlError."""
    true = _lately(node, _last(node, place))
    return Truth(true, without(place.everybody, true))


def reckoned(node: Event, place: Place) -> Query:
    """When the last one was, how long ago, or how many there were. Raises PromqlError."""
    if node.kind == EventUse.COUNT:
        return _count(node, place)
    last = _last(node, place)
    return last if node.kind == EventUse.LAST else joined(Query("time()"), "-", last)


def _last(node: Event, place: Place) -> Query:
    return place.stripped(Query(place.select(_LAST, *_matchers(node, place))), _LABELS)


def _count(node: Event, place: Place) -> Query:
    """A counter that began within the time has counted all that it shows, if the last was then."""
    total = place.select(_TOTAL, *_matchers(node, place))
    span = duration(node.seconds)
    new = joined(Query(total), "unless", Query(f"{total} offset {span}"))
    grown = joined(new, "or", called("increase", f"{total}[{span}]"))
    place.note("increase() of PromQL extrapolates to the ends of the window")
    lately = joined(
        grown, "and", _lately(node, Query(place.select(_LAST, *_matchers(node, place))))
    )
    seen = called("sum without (code, category) ", lately.text)
    return joined(seen, "or", joined(place.everybody, "*", constant(0)))


def _lately(node: Event, last: Query) -> Query:
    return joined(last, ">=", joined(Query("time()"), "-", constant(node.seconds)))


def _matchers(node: Event, place: Place) -> list[str]:
    """What the events have in common."""
    kind = EVENT_KINDS[node.pattern.kind]
    if place.scope != DEVICE:
        raise PromqlError(f"agents do not expose events of a {place.scope}")
    if kind.name in _OF_NODES:
        raise PromqlError(f'agents do not expose events of the kind "{kind.name}"')
    place.note("events that name no device are not exposed, and no more than 32 codes a device")
    matchers: list[str] = []
    categories = set(Category)
    for part in _parts(node.pattern.predicate):
        names = {key for one in walk(part) if isinstance(one, Reading) for key in one.keys}
        if names == {"code"}:
            matchers.append(_code(part, kind))
        elif names <= {"category", "severity", "trusted"}:
            categories = {one for one in categories if _fits(part, one)}
        else:
            told = ", ".join(sorted(str(one) for one in names))
            raise PromqlError(f"agents do not expose {told} of an event")
    if kind.codes and not any(one.startswith(("code=", "code=~")) for one in matchers):
        words = quoted(f"({'|'.join(kind.codes)})(_.*)?")
        matchers.insert(0, f"code=~{words}")
    if not categories:
        raise PromqlError("agents count no such events")
    if len(categories) < len(Category):
        pattern = "|".join(one.value for one in Category if one in categories)
        matchers.append(f"category{'=~' if len(categories) > 1 else '='}{quoted(pattern)}")
    return matchers


def _parts(predicate: Node | None) -> tuple[Node, ...]:
    match predicate:
        case None:
            return ()
        case Logic(operator="and", operands=operands):
            return tuple(part for one in operands for part in _parts(one))
    return (predicate,)


def _code(part: Node, kind: EventKind) -> str:
    match part:
        case Comparison(operators=(operator,), operands=(Reading(), right)) if operator in (
            "==",
            "!=",
            "in",
            "not in",
        ):
            items = right.elements if isinstance(right, Items) else (right,)
            codes = [one.value for one in items if isinstance(one, Constant)]
            if len(codes) == len(items):
                return _one_of([_spelt(one, kind) for one in codes], operator in ("==", "in"))
    raise PromqlError("a condition on the code of an event other than ==, !=, in and not in")


def _spelt(code: Value, kind: EventKind) -> str:
    return f"{kind.codes[0]}_{code}" if kind.numbered else str(code)


def _one_of(codes: list[str], fits: bool) -> str:
    if len(codes) == 1:
        return f"code{'=' if fits else '!='}{quoted(codes[0])}"
    pattern = "|".join(map(literal_pattern, codes))
    return f"code{'=~' if fits else '!~'}{quoted(pattern)}"


def _fits(part: Node, category: Category) -> bool:
    """Whether events of a category fit; what agents count is trusted."""
    event = ErrorEvent(code="", category=category, time=0.0, text="", source="")

    def told(key: Key) -> Value | Missing:
        words = {"category": category.value, "severity": severity(event), "trusted": True}
        return words.get(str(key), MISSING)

    return generate(part)(told) is True
