"""Reasons to keep new jobs off nodes, from incidents, marks, windows of maintenance and silence."""

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.silence import Maintenance
from accelwatch.alerting.rules.document import Scope, Severity
from accelwatch.fleet.avoid.documents import AvoidReason, ReasonKind
from accelwatch.fleet.names import NodeState
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.schema.timestamps import timestamp, timestamp_or_none

if TYPE_CHECKING:
    from accelwatch.remediation.policy.state.model import RemedyState

# Names of nodes, each with one reason.
NodeReasons = Iterator[tuple[str, AvoidReason]]


def of_incidents(incidents: Iterable[Incident], severities: Collection[Severity]) -> NodeReasons:
    """Open incidents of nodes and devices.

    An incident of a job or a rack names no node of its own: the nodes it comes from have theirs. One
    that follows another is a consequence, and the node may be healthy.
    """
    for incident in incidents:
        is_own = incident.entity.scope in (Scope.DEVICE, Scope.NODE) and not incident.storm
        if not is_own or incident.follows or incident.severity not in severities:
            continue
        yield (
            incident.entity.node,
            AvoidReason(
                kind=ReasonKind.INCIDENT,
                text=incident.title,
                since=timestamp(incident.since),
                incident=incident.id,
                rule=incident.rule,
                severity=incident.severity.value,
                confidence=incident.confidence.value,
                device=incident.facts.device_name,
            ),
        )


def of_quarantines(state: "RemedyState") -> NodeReasons:
    """Nodes that we hold out, as their scheduler showed it last."""
    for remedy in state.remedies.values():
        quarantine = remedy.hold
        if quarantine is not None:
            yield (
                remedy.node,
                AvoidReason(
                    kind=ReasonKind.QUARANTINED,
                    text=quarantine.reason,
                    since=timestamp_or_none(quarantine.set_at),
                    incident=quarantine.mark.incident,
                ),
            )


def of_windows(
    windows: Iterable[Maintenance], nodes: Iterable[str], now: float, within_s: float
) -> NodeReasons:
    """Windows of maintenance that are open now or open within `within_s` seconds."""
    coming = [window for window in windows if window.starts - within_s <= now < window.ends]
    if not coming:
        return
    for node in nodes:
        for window in coming:
            if not window.nodes or node in window.names:
                yield (
                    node,
                    AvoidReason(
                        kind=ReasonKind.MAINTENANCE,
                        text=window.reason,
                        since=timestamp(window.starts),
                        until=timestamp(window.ends),
                    ),
                )


def of_silence(fleet: Fleet) -> NodeReasons:
    """Nodes that do not answer, or have never answered; without those that were not polled yet."""
    for node in fleet.nodes.values():
        state, fault = fleet.state_of(node), node.why_silent
        if state not in (NodeState.DOWN, NodeState.NEVER) or _is_unasked(state, fault):
            continue
        text = "it has never answered" if state is NodeState.NEVER else "it does not answer"
        age_s = fleet.age_of(node)
        yield (
            node.name,
            AvoidReason(
                kind=ReasonKind.UNREACHABLE,
                text=f"{text}: {fault}" if fault else text,
                since=None if age_s is None else timestamp(fleet.clock.wall() - age_s),
            ),
        )


def unasked_nodes(fleet: Fleet) -> int:
    """How many nodes have neither answered nor failed to: a hub that has just started has many."""
    return sum(_is_unasked(fleet.state_of(node), node.why_silent) for node in fleet.nodes.values())


def _is_unasked(state: NodeState, fault: str) -> bool:
    return state is NodeState.NEVER and not fault
