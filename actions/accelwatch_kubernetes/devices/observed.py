"""A node of which devices are out by our rules, in the words of the contract. Pure."""

from collections.abc import Sequence

from msgspec.structs import replace

from accelwatch.action.intent import JobKey
from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch_kubernetes.devices.taint_rule import TaintRule, is_enforced

# Where others mark the node as well, our devices stay ours to release.
_BESIDE = frozenset({HoldState.OPEN, HoldState.FOREIGN})


def with_quarantined_devices(
    node: NodeObservation, rules: Sequence[TaintRule], jobs: tuple[JobKey, ...] | None
) -> NodeObservation:
    """The node as ours by its devices, unless it is ours as a whole; `rules` are of it, oldest first."""
    annotations = [rule.hold for rule in rules if rule.hold is not None and is_enforced(rule)]
    if not annotations or node.hold_state not in _BESIDE:
        return node
    oldest = annotations[0]
    return replace(
        node,
        hold_state=HoldState.OURS,
        annotation=oldest.owner,
        reason=oldest.reason,
        set_by=oldest.by,
        set_at=oldest.since,
        quarantined_devices=tuple(sorted({hold.device for hold in annotations})),
        device_jobs=jobs,
    )
