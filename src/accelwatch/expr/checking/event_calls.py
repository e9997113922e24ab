"""Checks the calls about events: of which kind, with which predicate, how far back."""

import ast

from accelwatch.expr.checking.boot import UPTIME
from accelwatch.expr.checking.tree import Boot, Event, EventPattern, Reading, walk
from accelwatch.expr.checking.typing_pass import (
    Typing,
    choice_of,
    keyword_of,
    literal,
    seconds_of,
    slice_of,
)
from accelwatch.expr.vocabulary.events import (
    EVENT_FUNCTIONS,
    EVENT_KINDS,
    LONGEST_S,
    WITHIN_S,
    EventRow,
    EventUse,
    event_names,
)
from accelwatch.expr.vocabulary.names import did_you_mean

# Keywords that are no field of an event.
_WHEN = ("within", "until")
_BOOT = "boot"


def event(typing: Typing, call: ast.Call, name: str) -> Event | Boot:
    """The typed call of a function over events; raises ExpressionError."""
    row = EVENT_FUNCTIONS[name]
    if not row.within and (keyword := next((k for k in call.keywords if k.arg == "within"), None)):
        raise typing.refusal(keyword, f"{name} looks back without an end", f"write {row.usage}")
    until_boot = _until_boot(typing, call, row)
    about = _about(typing, call, row)
    pattern = _pattern(typing, about, row)
    if pattern.kind == _BOOT:
        _refuse_of_boot(typing, about, row, pattern, until_boot=until_boot)
    seconds = 0
    if until_boot:
        seconds = LONGEST_S
    elif row.within:
        written = _duration(typing, call, row)
        seconds = WITHIN_S if written is None else seconds_of(typing, written, 1, LONGEST_S)
    if pattern.kind == _BOOT:
        return Boot(row.use.value, UPTIME, seconds, row.result)
    return Event(row.use.value, pattern, seconds, row.result, until_boot)


def _refuse_of_boot(
    typing: Typing, about: ast.Call, row: EventRow, pattern: EventPattern, *, until_boot: bool
) -> None:
    """Raise ExpressionError for what an uptime cannot answer."""
    kind = about.args[0]
    if row.use is EventUse.COUNT:
        raise typing.refusal(kind, "only the last boot is known", 'write since("boot") < 86400')
    if until_boot:
        until = keyword_of(about, "until") or kind
        raise typing.refusal(until, "a boot does not end with a boot", 'write event("boot")')
    if pattern.text:
        fields = [*about.args[1:], *(k.value for k in about.keywords if k.arg not in _WHEN)]
        raise typing.refusal(fields[0], "a boot has no fields", f'write {row.use}("boot")')


def _until_boot(typing: Typing, call: ast.Call, row: EventRow) -> bool:
    """Whether `until="boot"` stands there."""
    until = keyword_of(call, "until")
    if until is None:
        return False
    if row.use is not EventUse.HAPPENED:
        raise typing.refusal(until, f"only event ends with a boot, not {row.use}")
    choice_of(typing, until, "end of an event", [_BOOT])
    if (within := keyword_of(call, "within")) is not None:
        raise typing.refusal(within, 'an event has either within= or until="boot"')
    return True


def _about(typing: Typing, call: ast.Call, row: EventRow) -> ast.Call:
    """The call that says which events: the function itself, or event(...) within it."""
    first = call.args[0] if call.args else None
    if row.use is EventUse.HAPPENED or not isinstance(first, ast.Call):
        return call
    if not (isinstance(first.func, ast.Name) and first.func.id == EventUse.HAPPENED):
        raise typing.refusal(first, f"{row.use} is about events", f"write {row.usage}")
    if keyword_of(first, "within") is not None:
        message = f"within stands outside of event in {row.use}"
        raise typing.refusal(first, message, f"write {row.usage}")
    _until_boot(typing, first, row)
    others = [argument for argument in call.args[1:] if literal(typing, argument) is None]
    fields = [keyword.value for keyword in call.keywords if keyword.arg not in _WHEN]
    if others or fields:
        raise typing.refusal([*others, *fields][0], "this belongs into event(...)")
    return first


def _duration(typing: Typing, call: ast.Call, row: EventRow) -> ast.expr | None:
    """`within=`, or for count(event(...), "24h") the last value."""
    within = keyword_of(call, "within")
    if within is None and row.use is EventUse.COUNT:
        within = call.args[-1] if len(call.args) > 1 and literal(typing, call.args[-1]) else None
        if within is None:
            raise typing.refusal(call, "count needs within=", f"write {row.usage}")
    return within


def _pattern(typing: Typing, call: ast.Call, row: EventRow) -> EventPattern:
    if not call.args:
        raise typing.refusal(call, f"{row.use} needs a kind of event", f"write {row.usage}")
    kind = EVENT_KINDS[_kind(typing, call.args[0])]
    others = [
        argument
        for argument in call.args[1:]
        if not (row.use is EventUse.COUNT and literal(typing, argument))
    ]
    equal = [keyword for keyword in call.keywords if keyword.arg not in _WHEN]
    conditions = [*others, *(_equality(keyword) for keyword in equal)]
    if not conditions:
        return EventPattern(kind.name, "")
    texts = [f"({slice_of(typing, argument)})" for argument in others]
    texts += [f"({keyword.arg} == {slice_of(typing, keyword.value)})" for keyword in equal]
    predicate = typing.predicate(event_names(kind), conditions)
    named = {key for node in walk(predicate) if isinstance(node, Reading) for key in node.keys}
    return EventPattern(
        kind.name, " and ".join(texts), predicate, "trusted" in named, "listed" in named
    )


def _kind(typing: Typing, source: ast.expr) -> str:
    name = literal(typing, source)
    if name is not None and name not in EVENT_KINDS:
        head, _, code = name.partition("_")
        if head in EVENT_KINDS and code:
            numbered = EVENT_KINDS[head].numbered
            hint = f'write "{head}", code == {code if numbered else repr(name)}'.replace("'", '"')
            raise typing.refusal(source, f"unknown kind of event {name[:60]!r}", hint)
        if not did_you_mean(name, EVENT_KINDS):
            hint = (
                f'kinds are {", ".join(EVENT_KINDS)}; write "any", code == "{name[:60]}" for a code'
            )
            raise typing.refusal(source, f"unknown kind of event {name[:60]!r}", hint)
    return choice_of(typing, source, "kind of event", list(EVENT_KINDS))


def _equality(keyword: ast.keyword) -> ast.expr:
    """`code=79` is written for `code == 79`."""
    name = ast.copy_location(ast.Name(id=keyword.arg or "", ctx=ast.Load()), keyword)
    compared = ast.Compare(left=name, ops=[ast.Eq()], comparators=[keyword.value])
    return ast.copy_location(compared, keyword)
