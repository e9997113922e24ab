"""Where an incident is: its scope, its nodes and its jobs, by what is known of who is to blame."""

from collections.abc import Sequence
from typing import NamedTuple

from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.rules.document import Scope

# Scope of what many nodes have in common.
GROUP = "group"


class Where(NamedTuple):
    """Where an incident is, by what is known of who is to blame."""

    scope: str
    node: str | None
    # The likeliest first.
    nodes: tuple[str, ...]


def where_of(incident: Incident, suspects: Sequence[str]) -> Where:
    """A job's culprit is where it is; many nodes are a group."""
    entity = incident.entity
    nodes = tuple(dict.fromkeys((*suspects, *incident.nodes)))
    scope: str = entity.scope
    if entity.group:
        scope = GROUP if len(nodes) > 1 else Scope.NODE
    elif entity.scope is Scope.RACK:
        scope = GROUP
    alone = scope in (Scope.DEVICE, Scope.NODE) or bool(suspects)
    return Where(scope, entity.node or (nodes[0] if alone and nodes else None), nodes)


def nodes_of(incident: Incident) -> tuple[str, ...]:
    """The nodes that an incident concerns."""
    return incident.nodes or ((incident.entity.node,) if incident.entity.node else ())


def jobs_of(incident: Incident) -> set[str]:
    """The jobs that an incident concerns."""
    return set(incident.facts.jobs) | ({incident.entity.job} - {""})
