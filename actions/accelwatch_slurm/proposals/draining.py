"""Which step leads to a node that accepts no work, or accepts it again. Pure."""

from accelwatch.action.intent import Intent
from accelwatch.action.observed import HoldState
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind, Step, Wait
from accelwatch_slurm.texts import steps
from accelwatch_slurm.texts.annotations import (
    annotation_of,
    field_of,
    has_old_reason,
    incident_in,
    merged,
    reason_of,
    without_suffix,
)
from accelwatch_slurm.texts.hold_state import reservation_for_test
from accelwatch_slurm.texts.node_text import SlurmNode
from accelwatch_slurm.texts.observed_context import ObservedContext

_SAME_TIME_S = 2.0
# Slurm's own word for what it gives up; only with it, Slurm returns the node to service by itself.
NOT_RESPONDING = "Not responding"


def propose_quarantine(intent: Intent, context: ObservedContext) -> Proposal:
    """Drain it, unless another person or tool holds it or removed our hold."""
    node = context.node
    if node is None:
        return missing(intent)
    if context.hold_state is HoldState.OURS and (node.drained or node.down):
        return _already_drained(intent, context, node)
    if refusal := not_ours(context, node):
        return refusal
    if context.hold_state is HoldState.OURS:
        return Step(
            kind=steps.DRAIN,
            arguments={"node": node.name, "reason": reason_of(intent), "keep": "yes"},
            text=f"drain {node.name}, whose test was given up",
        )
    if context.annotation is not None and context.annotation.i == intent.mark.incident:
        return Refusal(
            RefusalKind.OVERRIDDEN,
            f"{node.name} was drained for {intent.mark.incident} and resumed by another person or tool",
        )
    if context.annotation is not None and context.annotation.t > intent.mark.token:
        return Refusal(RefusalKind.FOREIGN, f"{node.name} has the mark of a newer engine")
    return Step(
        kind=steps.DRAIN,
        arguments={"node": node.name, "reason": reason_of(intent)},
        precondition={"standing": HoldState.OPEN},
        original={
            "states": "+".join(node.states),
            "reason": node.reason,
            context.field: field_of(node, context.field),
        },
        text=f"drain {node.name}",
    )


def _already_drained(intent: Intent, context: ObservedContext, node: SlurmNode) -> Proposal:
    annotation = annotation_of(node, context.field)
    if (added := _added(intent, context, node)) is not None:
        by = f" by {node.set_by}" if node.set_by else ""
        text = f"our reason of {node.name} was taken over{by}: {added}"
        return Refusal(RefusalKind.FOREIGN, text)
    if annotation is None or annotation.incident == intent.mark.incident:
        return Achieved(f"{node.name} is {'+'.join(node.states).lower()}, held by us")
    return Achieved(f"{node.name} is held already, for {annotation.incident}")


def _added(intent: Intent, context: ObservedContext, node: SlurmNode) -> str | None:
    """What a person has written behind the reason of this very drain; None where nobody has."""
    if context.annotation is None or context.annotation.since < intent.asked:
        return None
    ours, there = reason_of(intent), without_suffix(node.reason)
    return there[len(ours) :].strip() if there.startswith(ours) and there != ours else None


def not_ours(context: ObservedContext, node: SlurmNode) -> Refusal | None:
    """Why a node is not touched: another person or tool holds it, or Slurm has given it up."""
    state = context.hold_state
    if state not in (HoldState.FOREIGN, HoldState.DOWN):
        return None
    reason = f": {node.reason}" if node.reason else ""
    by = f" by {node.set_by}" if node.set_by else ""
    kind = "+".join(node.states).lower()
    where = "" if node.drained or node.down else ", in a reservation for maintenance"
    return Refusal(RefusalKind.FOREIGN, f"{node.name} is {kind}{by}{reason}{where}")


def missing(intent: Intent) -> Refusal:
    """Slurm knows no such node."""
    return Refusal(RefusalKind.IMPOSSIBLE, f"Slurm knows no node {intent.node}")


def propose_release(intent: Intent, context: ObservedContext) -> Proposal:
    """Remove our own hold, and nobody else's; what Slurm itself keeps down stays down."""
    node = context.node
    if node is None:
        return missing(intent)
    if context.hold_state is HoldState.OPEN:
        if _is_annotated(context, node) or has_old_reason(node):
            return _clear(steps.UNMARK, intent, context, node, f"remove our mark from {node.name}")
        return Achieved(f"{node.name} takes work")
    if context.hold_state is HoldState.FOREIGN and (refusal := not_ours(context, node)):
        return refusal
    if (reservation := reservation_for_test(node.name)) in context.reservations:
        return Step(
            kind=steps.DELETE_RESERVATION,
            arguments={"name": reservation},
            text=f"release the reservation for a test of {node.name}",
        )
    if context.hold_state is HoldState.DOWN:
        if _is_annotated(context, node):
            return _clear(steps.UNMARK, intent, context, node, f"remove our mark from {node.name}")
        return Achieved(f"we do not hold {node.name}; Slurm itself keeps it down: {node.reason}")
    return _overridden(intent, context, node) or _give_back(intent, context, node)


def _is_annotated(context: ObservedContext, node: SlurmNode) -> bool:
    """Whether our key stands in a field that is not of others."""
    return (
        context.annotation is not None and merged(field_of(node, context.field), None) is not None
    )


def _give_back(intent: Intent, context: ObservedContext, node: SlurmNode) -> Proposal:
    """Of a node that is ours."""
    if node.rebooting:
        return Wait(5.0, f"{node.name} is being rebooted")
    if not node.is_down_or_error:
        return _clear(steps.UNDRAIN, intent, context, node, f"undrain {node.name}")
    if (before := _down_before(intent)) is not None:
        text = f"leave {node.name} down, with the reason that Slurm had given: {before}"
        return _clear(steps.LEAVE_DOWN, intent, context, node, text, reason=before)
    if node.answering is not False:
        return _clear(steps.RESUME, intent, context, node, f"resume {node.name}")
    if node.drained:
        # After this Slurm pings slurmd at once; a down one it pings only every 20 of its rounds.
        text = f"have Slurm ask slurmd of {node.name} again, which stays down until that answers"
        return _clear(steps.UNDRAIN, intent, context, node, text, keep="yes")
    return Wait(5.0, silent_text(node))


def silent_text(node: SlurmNode) -> str:
    """For people: why a node stays down, and what mends that."""
    return (
        f"{node.name} stays down until its slurmd answers Slurm: start it there "
        "(systemctl restart slurmd), or check the network between it and the controller"
    )


def _down_before(intent: Intent) -> str | None:
    """Slurm's own reason, where Slurm had given a node up before we held it; None where it had not."""
    states, reason = intent.original.get("states", ""), intent.original.get("reason", "")
    if "DOWN" not in states.split("+") or incident_in(reason):
        return None
    return reason or NOT_RESPONDING


def _overridden(intent: Intent, context: ObservedContext, node: SlurmNode) -> Refusal | None:
    annotation = annotation_of(node, context.field)
    if annotation is not None and annotation.incident != intent.mark.incident:
        return Refusal(RefusalKind.FOREIGN, f"{node.name} is held for {annotation.incident}")
    if annotation is not None and annotation.token > intent.mark.token:
        return Refusal(RefusalKind.FOREIGN, f"{node.name} is held by a newer engine")
    if node.reason != without_suffix(node.reason):
        return None  # Slurm has set user and time anew, with the reboot that we requested
    set_by, set_at = intent.original.get("set_by"), intent.original.get("set_at")
    if set_by and set_by != node.set_by:
        return Refusal(RefusalKind.FOREIGN, f"the reason of {node.name} was set by {node.set_by}")
    if set_at and node.set_at is not None and abs(float(set_at) - node.set_at) > _SAME_TIME_S:
        return Refusal(RefusalKind.FOREIGN, f"the reason of {node.name} was changed since")
    return None


def _clear(
    kind: str, intent: Intent, context: ObservedContext, node: SlurmNode, text: str, **more: str
) -> Step:
    return Step(
        kind=kind,
        arguments={"node": node.name, **more},
        precondition={"incident": intent.mark.incident, "reason": node.reason},
        original={"reason": node.reason, context.field: field_of(node, context.field)},
        text=text,
    )
