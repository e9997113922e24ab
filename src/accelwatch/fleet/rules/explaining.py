"""A rule on one entity of the fleet, by their names."""

from accelwatch.alerting.evaluation.explaining import explained, no_such_rule, wrong_scope
from accelwatch.alerting.evaluation.explanation import Explanation
from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.verdict import Entity
from accelwatch.base.errors import UnmetError
from accelwatch.fleet.rules.row import RowEnvironment
from accelwatch.fleet.rules.rule_evaluator import FleetRuleEvaluator


def explained_on(evaluator: FleetRuleEvaluator, rule_id: str, entity: Entity) -> Explanation:
    """Every part of a rule on an entity. Raises UnmetError for a rule or an entity that is not there."""
    rule = evaluator.rules.get(rule_id)
    if rule is None:
        raise no_such_rule(rule_id, evaluator.rules)
    if entity.scope is not rule.scope:
        raise wrong_scope(rule, entity)
    row = evaluator.row_of(entity)
    if row is None or row >= evaluator.columns.size or not evaluator.columns.here[row]:
        name = str(entity).removeprefix(f"{entity.scope} ")
        raise UnmetError(f"no {entity.scope} {name[:100]!r} is known here")
    return explained(rule, entity, evaluator.alert_states, RowEnvironment(evaluator.columns, row))


def entity_named(text: str, evaluator: FleetRuleEvaluator) -> Entity:
    """`n12/nvidia3`, `n12`, `job:4711` or `rack:r7`. Raises UnmetError for no such device."""
    kind, _, name = text.partition(":")
    if kind in ("job", "rack") and name:
        return Entity(scope=Scope(kind), **{kind: name})
    node, _, device = text.rpartition("/")
    if not node:
        return Entity(scope=Scope.NODE, node=text)
    id_ = evaluator.device_id(node, device)
    if id_ is None:
        raise UnmetError(f"no device {device[:100]!r} on {node[:100]!r}")
    return Entity(scope=Scope.DEVICE, node=node, device=id_)
