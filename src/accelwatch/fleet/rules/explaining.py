"""A rule on one entity of the fleet, by their names."""

from accelwatch.errors import UnmetError
from accelwatch.fleet.rules.judge import FleetJudge
from accelwatch.fleet.rules.row import Row
from accelwatch.judging.explaining import explained
from accelwatch.judging.explanation import Explanation
from accelwatch.rules.document import Scope
from accelwatch.rules.verdict import Entity


def explained_on(judge: FleetJudge, rule_id: str, entity: Entity) -> Explanation:
    """Every part of a rule on an entity. Raises UnmetError for a rule or an entity that is not there."""
    rule = judge.rules.get(rule_id)
    if rule is None:
        raise UnmetError(f"no rule {rule_id[:100]!r} is in force")
    row = judge.row_of(entity)
    if row is None or row >= judge.columns.size or not judge.columns.here[row]:
        raise UnmetError(f"nothing is known of {entity}")
    return explained(rule, entity, judge.spells, Row(judge.columns, row))


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
