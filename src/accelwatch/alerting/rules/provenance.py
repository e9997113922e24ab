"""Which class of readings a verdict rests on: a rule acts only on those that its `trust` allows.

Of conditions that must all hold the weakest counts, of those of which one is enough the strongest that
holds. What compares with peers or folds a group rests on all members of it.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Protocol, runtime_checkable

from accelwatch.alerting.rules.evidence import EventTexts, evidence_of
from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.verdict import Justification
from accelwatch.expr.checking.tree import (
    Affected,
    Event,
    Fold,
    Logic,
    Node,
    Peers,
    Reading,
    Window,
    children,
)
from accelwatch.expr.codegen import generate_rule
from accelwatch.expr.environment import Environment
from accelwatch.expr.vocabulary.events import EventUse
from accelwatch.expr.vocabulary.kleene import Key
from accelwatch.schema.event import PUSHED
from accelwatch.schema.provenance import Provenance, strongest, weakest

_PUSHED_KINDS = frozenset({"alertmanager", "evidence"})


@runtime_checkable
class Traced(Protocol):
    """What an environment may know besides: where its values are from."""

    def provenance(self, key: Key | None) -> Provenance:
        """The class of the source that a value comes from; without a key that of all of the device."""
        ...

    def group_provenance(self, by: str) -> Provenance:
        """The weakest class among the members of its group."""
        ...


def provenance_of(rule: Rule, environment: Environment) -> Provenance:
    """The class of what a rule that fires rests on; what is not traced was read by the agent itself."""
    trees = [expression.tree for expression in (rule.when, rule.confirm) if expression is not None]
    return weakest(provenance for tree in trees for provenance in _classes(tree, environment))


def justification_of(rule: Rule, environment: Environment) -> Justification:
    """The evidence of a rule that fires, and its class."""
    evidence, provenance = evidence_of(rule, environment), provenance_of(rule, environment)
    return Justification(evidence=evidence, provenance=provenance)


def _classes(node: Node, environment: Environment) -> Iterator[Provenance]:
    match node:
        case Logic(operator="or", operands=operands):
            satisfied = [operand for operand in operands if _compiled(operand)(environment)]
            if satisfied:
                yield strongest(weakest(_classes(operand, environment)) for operand in satisfied)
                return
        case Event():
            yield _of_event(node, environment)
            return
        case Reading(keys=keys):
            yield from _of_keys(keys, environment)
            return
        case Window(reading=reading):
            yield from _of_keys(reading.keys, environment)
            return
        case Peers(by=by) | Affected(by=by) | Fold(by=by):
            if isinstance(environment, Traced):
                yield environment.group_provenance(by)
    for child in children(node):
        yield from _classes(child, environment)


def _of_keys(keys: tuple[Key, ...], environment: Environment) -> Iterator[Provenance]:
    if isinstance(environment, Traced):
        yield from (environment.provenance(key) for key in keys)


def _of_event(node: Event, environment: Environment) -> Provenance:
    if node.pattern.kind in _PUSHED_KINDS:
        return Provenance.PUSHED
    if not isinstance(environment, Traced):
        return Provenance.AUTHENTICATED
    if node.pattern.kind == "any":
        event = environment.latest(node.pattern) if isinstance(environment, EventTexts) else None
        # Which of those that are counted were pushed nobody remembers.
        if node.kind == EventUse.COUNT or (event is not None and event.source == PUSHED):
            return Provenance.PUSHED
    return environment.provenance(None)


# One generated function per distinct tree: rules of many packs share conditions, and a reload
# compiles only what changed.
_compiled = lru_cache(maxsize=4096)(generate_rule)
