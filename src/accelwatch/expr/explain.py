"""A rule part by part: what each part of it is at this moment, and why what is not known is not."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from accelwatch.expr.checking.tree import (
    Affected,
    Boot,
    Constant,
    Event,
    Fold,
    Node,
    Peers,
    Reading,
    Window,
    children,
)
from accelwatch.expr.codegen import generate_rule
from accelwatch.expr.environment import Environment
from accelwatch.expr.syntax.duration import spoken
from accelwatch.expr.vocabulary.events import EventUse
from accelwatch.expr.vocabulary.kleene import MISSING, UNKNOWN, Key, Missing, Raw, Truth, Value
from accelwatch.expr.vocabulary.names import Type
from accelwatch.expr.vocabulary.peers import LEAST_PEERS
from accelwatch.expr.vocabulary.windows import LEAST_SHARE, WindowKind
from accelwatch.schema.metrics import Series
from accelwatch.schema.series import path_of


@runtime_checkable
class Reasons(Protocol):
    """What an environment may know besides: why a value is missing."""

    def coverage(self, key: Series, seconds: int, *, of_job: bool = False) -> float | None:
        """Share of the samples of a window that there are, 0 to 1; None if there never was one."""
        ...


@runtime_checkable
class Absences(Protocol):
    """The same of current values."""

    def absence(self, key: Key) -> str:
        """Why there is no current value, in a few words; empty where that is not known."""
        ...


@dataclass(frozen=True, slots=True)
class Component:
    """One part of a rule; parts of it follow with a greater depth."""

    depth: int
    # As it was written.
    text: str
    node: Node
    type: Type
    # In base units; of a condition, whether it is true.
    value: Value | Missing
    # Of a condition or flag; None of anything else.
    truth: Truth | None
    # Why it is unknown or missing; empty if it is not.
    reason: str


def explain(text: str, tree: Node, environment: Environment) -> list[Component]:
    """Every part but constants, each before those that it consists of. Raises nothing by itself."""
    return list(_components(text, tree, environment, 0))


def _components(text: str, node: Node, environment: Environment, depth: int) -> Iterator[Component]:
    inner = [child for child in children(node) if not isinstance(child, Constant)]
    listed = node.type is Type.LIST
    if not listed:
        yield _component(text, node, environment, depth)
    if isinstance(node, Window | Boot):
        return
    for child in inner:
        yield from _components(text, child, environment, depth if listed else depth + 1)


def _component(text: str, node: Node, environment: Environment, depth: int) -> Component:
    raw = generate_rule(node)(environment)
    return Component(
        depth=depth,
        text=text[node.span[0] : node.span[1]],
        node=node,
        type=node.type,
        value=MISSING if raw is None else raw,
        truth=_truth(node, raw),
        reason=_reason(node, environment) if raw is None else "",
    )


def _truth(node: Node, raw: Raw) -> Truth | None:
    if node.type not in (Type.BOOL, Type.FLAG):
        return None
    return UNKNOWN if raw is None else raw != 0


def _reason(node: Node, environment: Environment) -> str:
    match node:
        case Reading(keys=keys) | Boot(reading=Reading(keys=keys)):
            return _absence(keys, environment)
        case Window():
            return _incomplete(node, environment)
        case Event(kind=kind, pattern=pattern):
            if kind != EventUse.HAPPENED and environment.last(pattern) is not None:
                return f"no such {pattern.kind} event was seen"
            return f"whether there was such a {pattern.kind} event is not known"
        case Peers(by=by) | Affected(by=by) | Fold(by=by):
            return _of_group(node, by, environment)
    missing = dict.fromkeys(_causes(node, environment))
    return f"not known: {', '.join(missing)}" if missing else "the result is not a number"


def _causes(node: Node, environment: Environment) -> Iterator[str]:
    """The innermost parts that are not known."""
    for child in children(node):
        if child.type is Type.LIST:
            yield from _causes(child, environment)
        elif generate_rule(child)(environment) is None:
            name = _name(child)
            if name:
                yield name
            else:
                yield from _causes(child, environment)


def _absence(keys: tuple[Key, ...], environment: Environment) -> str:
    reason = _absence_reason(keys[0], environment)
    return f"{_key(keys[0])} has no value" + (f": {reason}" if reason else "")


def _absence_reason(key: Key, environment: Environment) -> str:
    """Why there is no current value; empty where there is one, or that is not known."""
    if not isinstance(environment, Absences) or environment.lookup(key) is not MISSING:
        return ""
    return environment.absence(key)


def _incomplete(node: Window, environment: Environment) -> str:
    key = node.reading.keys[0]
    what = f"{_key(key)} {node.kind}" + (f" {spoken(node.seconds)}" if node.seconds else "")
    shares = [
        environment.coverage(series, node.seconds, of_job=node.of_job)
        for series in node.reading.keys
        if isinstance(environment, Reasons) and isinstance(series, tuple) and node.seconds
    ]
    now = _absence_reason(key, environment)
    if node.kind == WindowKind.AGE or not any(share is not None for share in shares):
        never = shares or not node.seconds
        why = ("there never was a value" if never else "no value") + (f", {now}" if now else "")
        return f"{what}: {why}"
    best = max(share for share in shares if share is not None)
    if best < LEAST_SHARE:
        text = f"{what} has {best:.0%} of its samples"
        text += " since the job began" if node.of_job else ""
        return f"{text}; now {now}" if now else text
    return f"{what} has no value yet"


def _of_group(node: Peers | Affected | Fold, by: str, environment: Environment) -> str:
    group = environment.group(by)
    if group is None:
        within = by.removesuffix("_model")
        return f"it belongs to no {within}" if by != "model" else "its model is not known"
    if isinstance(node, Affected):
        return f"there is no rule {node.rule}"
    if node.operand is None:
        return ""
    run = generate_rule(node.operand)
    recognised = sum(run(member) is not None for member in group.members)
    called = by.replace("_model", " and model")
    count_text = f"{recognised} of the {len(group.members)} devices of its {called}"
    if isinstance(node, Fold):
        return (
            f"only {count_text} are known"
            if recognised
            else f"none of the {len(group.members)} is known"
        )
    if run(environment) is None and node.kind == "z":
        return "its own value is missing"
    return f"{count_text} have a value; {LEAST_PEERS} others must"


def _name(node: Node) -> str:
    """The name of a part that reads something; empty for one that calculates."""
    match node:
        case Reading(keys=keys) | Boot(reading=Reading(keys=keys)):
            return _key(keys[0])
        case Window(kind=kind, reading=reading):
            return f"{_key(reading.keys[0])} {kind}"
        case Event(pattern=pattern):
            return f"{pattern.kind} events"
        case Peers(kind=kind, by=by):
            return f"peer_{kind} by {by}"
        case Affected(by=by):
            return f"peers_affected by {by}"
        case Fold(kind=kind, by=by):
            return f"{by}.{kind}"
    return ""


def _key(key: Key) -> str:
    return key if isinstance(key, str) else path_of(key)
