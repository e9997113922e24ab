"""Nodes that do not answer, as causes: each by itself, and many that stopped together as one outage."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from accelwatch.alerting.evaluation.documents import IncidentDocument
from accelwatch.fleet.names import NODE_SEVERITY, SPEAKING, NodeState
from accelwatch.fleet.outages import (
    NodeHealth,
    Outage,
    answered_and_why,
    outage_of,
    outage_text,
    outages,
    since_and_why,
)
from accelwatch.fleet.picture.incidents import above, seconds_of
from accelwatch.fleet.picture.why.observed_state import ObservedDevice, ObservedNode, ObservedState
from accelwatch.schema.display import duration

# The signal of a rule on the silence of nodes.
_SIGNAL = "node_state"


class Silence(msgspec.Struct, frozen=True, kw_only=True):
    """A node that does not answer, or all nodes of an outage."""

    nodes: tuple[str, ...]
    weight: int
    # Unix seconds; 0 of what never answered.
    since: float
    why: str
    remedy: str
    # What it is, or what the node is part of.
    outage: Outage | None = None
    # What a rule has opened about it.
    incident: IncidentDocument | None = None

    @property
    def is_outage(self) -> bool:
        """Whether it is of all the nodes."""
        return len(self.nodes) > 1


def silences(observed: ObservedState) -> Iterator[Silence]:
    """Each outage, then each silent node."""
    silent = [node for node in observed.nodes.values() if NODE_SEVERITY.get(node.state, 0)]
    reported = [incident for incident in observed.incidents if is_about_silence(incident)]
    outage_of_node: dict[str, Outage] = {}
    for outage, nodes in outages(map(_health, silent), len(observed.nodes), observed.time):
        outage_of_node.update(dict.fromkeys(nodes, outage))
        states = (observed.nodes[node].state for node in nodes)
        yield Silence(
            nodes=nodes,
            weight=max(NODE_SEVERITY[state] for state in states),
            since=seconds_of(outage.since),
            why=outage_text(outage, observed.time),
            remedy=outage.what_to_do,
            outage=outage,
            incident=_of_all(reported, set(nodes)),
        )
    own = {incident.node: incident for incident in reported if incident.node}
    for node in silent:
        outage_or_none = outage_of_node.get(node.node)
        yield Silence(
            nodes=(node.node,),
            weight=NODE_SEVERITY[node.state],
            since=observed.time - node.age_s if node.age_s is not None else 0.0,
            why=node.reason,
            remedy=outage_or_none.what_to_do if outage_or_none else node.remedy,
            outage=outage_or_none,
            incident=own.get(node.node),
        )


def is_about_silence(incident: IncidentDocument) -> bool:
    """Whether a rule opened it because nodes do not answer."""
    return any(evidence.signal == _SIGNAL for evidence in incident.evidence)


def _of_all(reported: Iterable[IncidentDocument], nodes: set[str]) -> IncidentDocument | None:
    """The incident that has most of the nodes and no others."""
    fitting = [
        incident
        for incident in reported
        if not above(incident) and nodes.issuperset(incident.nodes)
    ]
    return max(fitting, key=lambda incident: len(incident.nodes), default=None)


def _of_nodes(observed: ObservedState, names: Iterable[str]) -> tuple[Outage, list[str]] | None:
    """What the silent among these nodes have in common, and their names; None where all answer."""
    nodes = [observed.nodes[name] for name in dict.fromkeys(names) if name in observed.nodes]
    silent = [node for node in nodes if node.state not in SPEAKING]
    if not silent:
        return None
    outage = outage_of([_health(node) for node in silent], len(nodes), observed.time)
    return outage, [node.node for node in silent]


def _health(node: ObservedNode) -> NodeHealth:
    age_s = None if node.state == NodeState.NEVER else node.age_s
    return NodeHealth(node.node, node.state, age_s, node.reason)


def texts(silence: Silence, now: float) -> Sequence[str]:
    """The text on a silent node besides its own failure."""
    if silence.outage is None or silence.is_outage:
        return ()
    return (outage_text(silence.outage, now),)


def of_silent_job(
    observed: ObservedState, name: str, own: Sequence[ObservedDevice], runs: str
) -> str:
    """Of a job none or not all of whose nodes answer; empty where one of several does not."""
    result = _of_nodes(observed, [device.node for device in own])
    if result is None:
        return ""
    outage, names = result
    since = since_and_why(outage, observed.time)
    if outage.nodes < outage.nodes_total:
        them = f"{outage.nodes} of its {outage.nodes_total} nodes"
        return f"{runs}, but {them} have {since}" if outage.nodes > 1 else ""
    has = f"{names[0]}, the only node of {name}, has {since}"
    if len(names) > 1:
        ever = "" if outage.since else "ever "
        none = f"none of the {len(names)} nodes of {name}"
        has = f"{none} has {ever}{answered_and_why(outage, observed.time)}"
    return f"{has}; whether it still runs is unknown"


def last_read(device: ObservedDevice, age_s: float) -> str:
    """`n007/nvidia3 (job 4711) was last read 20 s ago`, of one that was well then."""
    jobs = f" (job {', '.join(device.jobs)})" if device.jobs else ""
    return f"{device.node}/{device.name}{jobs} was last read {duration(age_s)} ago"
