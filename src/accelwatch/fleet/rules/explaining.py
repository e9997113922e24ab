"""Why a rule fires on an entity, or does not: every part of it with what it is now."""

from accelwatch.errors import UnmetError
from accelwatch.expr.explain import Part, explain
from accelwatch.expr.kleene import MISSING, UNKNOWN, Truth
from accelwatch.expr.rule import RuleExpression
from accelwatch.fleet.rules.explanation import Explanation, PartRow
from accelwatch.fleet.rules.judge import FleetJudge
from accelwatch.fleet.rules.row import Row
from accelwatch.rules.document import Scope
from accelwatch.rules.timing import Phase
from accelwatch.rules.verdict import Entity

_TRUTHS = {True: "true", False: "false", None: ""}


def explained(judge: FleetJudge, rule_id: str, entity: Entity) -> Explanation:
    """Every part of a rule on an entity. Raises UnmetError for a rule or an entity that is not there."""
    rule = judge.rules.get(rule_id)
    if rule is None:
        raise UnmetError(f"no rule {rule_id[:100]!r} is in force")
    row = judge.row_of(entity)
    if row is None or row >= judge.columns.size or not judge.columns.here[row]:
        raise UnmetError(f"nothing is known of {entity}")
    spell = judge.spells.of(rule_id).get(entity)
    parts: list[PartRow] = []
    wanted = {
        "select": rule.select,
        "when": rule.when,
        "confirm": rule.confirm,
        "clear": rule.clear,
    }
    for key, expression in wanted.items():
        if expression is not None:
            parts += _rows(key, expression, Row(judge.columns, row))
    return Explanation(
        rule=rule_id,
        entity=str(entity),
        phase="idle" if spell is None else spell.phase.value,
        held_s=None if spell is None or spell.phase is Phase.FIRING else spell.held_s,
        parts=tuple(parts),
    )


def _rows(key: str, expression: RuleExpression, row: Row) -> list[PartRow]:
    return [_part(key, part) for part in explain(expression.text, expression.tree, row)]


def _part(key: str, part: Part) -> PartRow:
    return PartRow(
        key=key,
        depth=part.depth,
        text=part.text,
        value=None if part.value is MISSING else part.value,
        truth=_word(part.truth),
        reason=part.reason,
    )


def _word(truth: Truth | None) -> str:
    return "unknown" if truth is UNKNOWN else _TRUTHS[truth]


def entity_named(text: str, judge: FleetJudge) -> Entity:
    """`n12/nvidia3`, `n12`, `job:4711` or `rack:r7`. Raises UnmetError for no such device."""
    kind, _, name = text.partition(":")
    if kind in ("job", "rack") and name:
        return Entity(scope=Scope(kind), **{kind: name})
    node, _, device = text.rpartition("/")
    if not node:
        return Entity(scope=Scope.NODE, node=text)
    id_ = judge.device_id(node, device)
    if id_ is None:
        raise UnmetError(f"no device {device[:100]!r} on {node[:100]!r}")
    return Entity(scope=Scope.DEVICE, node=node, device=id_)
