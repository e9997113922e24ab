"""When many nodes are a storm, of what, and which incidents are in it: of a rack, or of the fleet."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from accelwatch.alerting.incidents.grouping.grouping_key import FLEET, NODE, RACK, rack_of
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.rules.rule import Rule

LEAST_NODES = 10
LEAST_OF_RACK = 3
# Nodes outside its rack, or of other rules, from which on the storm of a rack is one of the fleet.
LEAST_BESIDES = 3


def may_join_storm(incident: Incident, rules: Mapping[str, Rule]) -> bool:
    """Whether it may be part of a storm: a rule that groups over the fleet has said from when on."""
    rule = rules.get(incident.rule)
    over_fleet = rule is not None and rule.group is not None and rule.group.by == FLEET
    loud = incident.severity.weight >= Severity.WARNING.weight
    return bool(rule is not None and incident.entity.node and loud and not over_fleet)


def _nodes(incidents: Iterable[Incident]) -> set[str]:
    return {incident.entity.node for incident in incidents}


def _stands_in(incident: Incident, common: str) -> bool:
    return common in (FLEET, f"{RACK}{rack_of(incident)}")


def belongs(incident: Incident, common: str, alike: str, rules: Mapping[str, Rule]) -> bool:
    """Whether it belongs to a storm there; the storm of a rack is of one rule, while that is known."""
    same = incident.rule == alike or alike not in rules
    return common == FLEET or (_stands_in(incident, common) and same)


def unexplained(recent: list[Incident], own: Sequence[Incident]) -> list[Incident]:
    """Without those whose rules' own group across nodes has most of them: that is the one to report."""
    half = len(_nodes(recent)) / 2
    explained: set[str] = set()
    for group in own:
        if not group.entity.group.startswith(NODE):
            members = set(group.members)
            if len(_nodes(incident for incident in recent if incident.id in members)) > half:
                explained |= members
    return [incident for incident in recent if incident.id not in explained]


def rack_of_most(recent: list[Incident], rules: Mapping[str, Rule]) -> tuple[str, str]:
    """`rack=r7` where most nodes of one rule are, and that rule; both empty when there is none."""
    for id_ in dict.fromkeys(incident.rule for incident in recent):
        group = rules[id_].group
        if group is not None and group.by == "rack":
            continue  # it has said itself from how many on
        nodes = {incident.entity.node: incident for incident in recent if incident.rule == id_}
        racks = Counter(rack_of(incident) for incident in nodes.values() if rack_of(incident))
        for rack, count in racks.most_common(1):
            if count >= LEAST_OF_RACK and count > len(nodes) / 2:
                return f"{RACK}{rack}", id_
    return "", ""


def is_wide(recent: list[Incident], common: str, alike: str) -> bool:
    """Whether the storm is of the fleet, and not, or no more, of one rack."""
    if len(_nodes(recent)) < LEAST_NODES:
        return False
    inside = (
        incident for incident in recent if _stands_in(incident, common) and incident.rule == alike
    )
    return not common or len(_nodes(recent) - _nodes(inside)) >= LEAST_BESIDES


def leading_rule(members: list[Incident], rules: Mapping[str, Rule]) -> Rule:
    """The rule that most of the worst go by."""
    worst = max(member.severity.weight for member in members)
    counted = Counter(member.rule for member in members if member.severity.weight == worst)
    return rules[counted.most_common(1)[0][0]]
