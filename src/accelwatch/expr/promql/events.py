"""Events as the agents count them: by device, code and category, with the time of the last."""

from accelwatch.expr.checking.boot import SLACK_S, UPTIME
from accelwatch.expr.checking.tree import (
    Boot,
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
from accelwatch.expr.promql.quantities import reading
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
from accelwatch.expr.promql.query_context import DEVICE, QueryContext
from accelwatch.expr.vocabulary.events import (
    EVENT_KINDS,
    LONGEST_S,
    WITHIN_S,
    EventKind,
    EventUse,
)
from accelwatch.expr.vocabulary.kleene import MISSING, Key, Missing, Value
from accelwatch.schema.event import Category, ErrorEvent, severity

_LABELS = ("code", "category")
_LAST, _TOTAL = "error_event_last_timestamp_seconds", "error_events_total"
# Kinds of events that agents do not count on a device.
_OF_NODES = frozenset(
    {
        *("boot", "device", "disk", "heat", "kernel", "nfs", "node", "oom"),
        *("alertmanager", "evidence"),
    }
)


def happened(node: Event, context: QueryContext) -> Truth:
    """Whether there was an event lately. Raises PromqlError."""
    last = _last(node, context)
    true = _since_boot(last, context) if node.until_boot else _lately(node.seconds, last)
    return Truth(true, without(context.everybody, true))


def computed(node: Event | Boot, context: QueryContext) -> Query:
    """When the last one was, how long ago, or how many there were. Raises PromqlError."""
    if isinstance(node, Boot):
        uptime = reading(node.reading, context)
        return joined(Query("time()"), "-", uptime) if node.kind == EventUse.LAST else uptime
    if node.kind == EventUse.COUNT:
        return _count(node, context)
    last = _last(node, context)
    return last if node.kind == EventUse.LAST else joined(Query("time()"), "-", last)


def _last(node: Event, context: QueryContext) -> Query:
    return context.stripped(Query(context.select(_LAST, *_matchers(node, context))), _LABELS)


def _count(node: Event, context: QueryContext) -> Query:
    """A counter that began within the time has counted all that it shows, if the last was then."""
    total = context.select(_TOTAL, *_matchers(node, context))
    span = duration(node.seconds)
    new = joined(Query(total), "unless", Query(f"{total} offset {span}"))
    grown = joined(new, "or", called("increase", f"{total}[{span}]"))
    context.note("increase() of PromQL extrapolates to the ends of the window")
    lately = joined(
        grown, "and", _lately(node.seconds, Query(context.select(_LAST, *_matchers(node, context))))
    )
    counted = called("sum without (code, category) ", lately.text)
    return joined(counted, "or", joined(context.everybody, "*", constant(0)))


def _lately(seconds: int, last: Query) -> Query:
    return joined(last, ">=", joined(Query("time()"), "-", constant(seconds)))


def _since_boot(last: Query, context: QueryContext) -> Query:
    """Without an uptime an event counts as long as any other."""
    uptime = reading(UPTIME, context)
    booted = joined(joined(Query("time()"), "-", uptime), "-", constant(SLACK_S))
    since = joined(joined(last, ">", booted), "and", _lately(LONGEST_S, last))
    return joined(since, "or", joined(_lately(WITHIN_S, last), "unless", uptime))


def _matchers(node: Event, context: QueryContext) -> list[str]:
    """What the events have in common."""
    kind = EVENT_KINDS[node.pattern.kind]
    if context.scope != DEVICE:
        raise PromqlError(f"agents do not expose events of a {context.scope}")
    if kind.name in _OF_NODES:
        raise PromqlError(f'agents do not expose events of the kind "{kind.name}"')
    context.note("events that name no device are not exposed, and no more than 32 codes a device")
    matchers: list[str] = []
    categories = set(Category)
    for clause in _clauses(node.pattern.predicate):
        names = {key for child in walk(clause) if isinstance(child, Reading) for key in child.keys}
        if names == {"code"}:
            matchers.append(_code(clause, kind))
        elif names <= {"category", "severity", "trusted"}:
            categories = {category for category in categories if _fits(clause, category)}
        else:
            unsupported = ", ".join(sorted(str(name) for name in names))
            raise PromqlError(f"agents do not expose {unsupported} of an event")
    if kind.codes and not any(matcher.startswith(("code=", "code=~")) for matcher in matchers):
        code_pattern = quoted(f"({'|'.join(kind.codes)})(_.*)?")
        matchers.insert(0, f"code=~{code_pattern}")
    if not categories:
        raise PromqlError("agents count no such events")
    if len(categories) < len(Category):
        pattern = "|".join(category.value for category in Category if category in categories)
        matchers.append(f"category{'=~' if len(categories) > 1 else '='}{quoted(pattern)}")
    return matchers


def _clauses(predicate: Node | None) -> tuple[Node, ...]:
    match predicate:
        case None:
            return ()
        case Logic(operator="and", operands=operands):
            return tuple(clause for operand in operands for clause in _clauses(operand))
    return (predicate,)


def _code(clause: Node, kind: EventKind) -> str:
    match clause:
        case Comparison(operators=(operator,), operands=(Reading(), right)) if operator in (
            "==",
            "!=",
            "in",
            "not in",
        ):
            items = right.elements if isinstance(right, Items) else (right,)
            codes = [item.value for item in items if isinstance(item, Constant)]
            if len(codes) == len(items):
                return _code_matcher(
                    [_spelt(code, kind) for code in codes], operator in ("==", "in")
                )
    raise PromqlError("a condition on the code of an event other than ==, !=, in and not in")


def _spelt(code: Value, kind: EventKind) -> str:
    return f"{kind.codes[0]}_{code}" if kind.numbered else str(code)


def _code_matcher(codes: list[str], fits: bool) -> str:
    if len(codes) == 1:
        return f"code{'=' if fits else '!='}{quoted(codes[0])}"
    pattern = "|".join(map(literal_pattern, codes))
    return f"code{'=~' if fits else '!~'}{quoted(pattern)}"


def _fits(clause: Node, category: Category) -> bool:
    """Whether events of a category fit; what agents count is trusted."""
    event = ErrorEvent(code="", category=category, time=0.0, text="", source="")

    def lookup(key: Key) -> Value | Missing:
        values = {"category": category.value, "severity": severity(event), "trusted": True}
        return values.get(str(key), MISSING)

    return generate(clause)(lookup) is True
