"""Whether an incident is part of a fault of many nodes: then it quarantines no node. Pure.

Groups and storms, with their calm, are kept by `accelwatch.alerting.incidents`: a storm ends ten
minutes after the last of its members, and until then whoever joins it is a member. So all that is
decided here is whether an open group across nodes has the incident.
"""

from collections.abc import Mapping

from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.remediation.policy.guards.denial import PERMIT, Answer, Denial, DenialKind

# Groups of the devices of one node have their cause on it: the node is still quarantined.
_NODE_PREFIX = "node="


def may_act(incident: Incident, incidents: Mapping[str, Incident]) -> Answer:
    """Whether an incident speaks for its own node; `incidents` are the incidents by id."""
    if across_nodes(incident):
        text = f"it concerns {len(incident.nodes)} nodes at once ({incident.entity.group})"
        return Denial(why=DenialKind.GROUP, text=text)
    group = incidents.get(incident.group)
    # A group may be part of another one; a journal with a cycle must not hang the step.
    visited: set[str] = set()
    while group is not None and group.id not in visited:
        visited.add(group.id)
        if group.is_open and across_nodes(group):
            text = f"it is part of {group.id}, which concerns {len(group.nodes)} nodes at once"
            return Denial(why=DenialKind.GROUP, text=f"{text} ({group.entity.group})")
        group = incidents.get(group.group)
    return PERMIT


def across_nodes(incident: Incident) -> bool:
    """Whether an incident is one of many nodes at once."""
    group = incident.entity.group
    return incident.storm or bool(group and not group.startswith(_NODE_PREFIX))
