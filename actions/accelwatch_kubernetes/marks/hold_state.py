"""To whom a node belongs, as the API server shows it. Pure."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from accelwatch.action.intent import JobKey
from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch_kubernetes.marks.foreign import (
    EFFECTS,
    cordon_owner,
    holder_of_taint,
    taint_text,
)
from accelwatch_kubernetes.marks.hold import Hold, hold_of
from accelwatch_kubernetes.objects.node import Node, Taint
from accelwatch_kubernetes.settings.options import KubernetesOptions


class ForeignClaim(NamedTuple):
    """What keeps work away from a node besides us."""

    # `cordoned`, or the taint.
    reason: str
    # Empty where nobody knows.
    by: str


def our_taints(node: Node, hold: Hold) -> list[Taint]:
    """The taint that was set with a hold, as it stands there now; none where it was removed."""
    return [taint for taint in hold.taints_on(node) if taint.get("effect") in EFFECTS]


def foreign_claims(node: Node, hold: Hold | None, options: KubernetesOptions) -> list[ForeignClaim]:
    """All that keeps work away from a node and is not of this hold of ours."""
    claims = []
    cordon_is_ours = hold is not None and hold.cordoned_by_us
    ours = [] if hold is None else hold.all_taints_on(node)
    if node.spec.unschedulable and not cordon_is_ours:
        claims.append(ForeignClaim("cordoned", cordon_owner(node)))
    for taint in node.spec.taints:
        if taint in ours:
            continue
        if taint.get("key") == options.taint and taint.get("effect") in EFFECTS:
            # Of a person, or of another program that uses our key: there is no annotation of ours.
            claims.append(ForeignClaim(f"taint {taint_text(taint)}", ""))
        elif by := holder_of_taint(taint, options.foreign_taints):
            claims.append(ForeignClaim(f"taint {taint_text(taint)}", by))
    return claims


def override_text(node: Node, hold: Hold) -> str:
    """Which parts of our hold were removed, in words; empty while all of it stands."""
    if not our_taints(node, hold):
        return f"the taint {hold.taint} of {node.name} was removed"
    if hold.cordoned_by_us and not node.spec.unschedulable:
        return f"{node.name} was uncordoned"
    return ""


def hold_state_of(node: Node, options: KubernetesOptions) -> HoldState:
    """Ours with our annotation and what it says that we did; foreign marks beside it change nothing."""
    if node.metadata.deletion_timestamp:
        return HoldState.DOWN
    hold = hold_of(node)
    if hold is not None and (our_taints(node, hold) or _has_our_cordon(node, hold)):
        return HoldState.OURS if hold.by == options.hub else HoldState.FOREIGN
    return HoldState.FOREIGN if foreign_claims(node, hold, options) else HoldState.OPEN


def _has_our_cordon(node: Node, hold: Hold) -> bool:
    return hold.cordoned_by_us and node.spec.unschedulable


def observed_node(
    node: Node,
    options: KubernetesOptions,
    jobs: Sequence[JobKey] = (),
    *,
    owners: Mapping[str, str] = MappingProxyType({}),
) -> NodeObservation:
    """The node in the words of the contract; `owners` by the job as users write it."""
    state, hold = hold_state_of(node, options), hold_of(node)
    foreign = foreign_claims(node, hold, options)
    reason, by, at = "", "", None
    if state is HoldState.FOREIGN and foreign:
        reason, by = foreign[0]
    elif hold is not None and state in (HoldState.OURS, HoldState.FOREIGN):
        reason, by, at = hold.reason, hold.by, hold.since
    elif state is HoldState.DOWN:
        reason = "the node object is being deleted"
    # Also of a node that accepts work again: who has freed it has left our annotation there.
    shown = hold is not None and hold.by == options.hub and state is not HoldState.FOREIGN
    return NodeObservation(
        name=node.name,
        hold_state=state,
        answering=node.ready,
        annotation=hold.owner if shown and hold is not None else None,
        reason=reason,
        set_by=by,
        set_at=at,
        address=node.address,
        boot_id=node.status.node_info.boot_id,
        system_uuid=node.status.node_info.system_uuid,
        jobs=tuple(jobs),
        owners={name: owners[name] for name in map(str, jobs) if name in owners},
        pools=_pools(node, options),
        incarnation=node.metadata.uid,
        undone=override_text(node, hold) if hold is not None and state is HoldState.OURS else "",
    )


def _pools(node: Node, options: KubernetesOptions) -> tuple[str, ...]:
    pool = node.metadata.labels.get(options.pool_label, "") if options.pool_label else ""
    return (pool,) if pool else ()
