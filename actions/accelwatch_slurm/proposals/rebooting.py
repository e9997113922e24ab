"""Which step leads to a node that was rebooted. Pure."""

from accelwatch.action.intent import Intent
from accelwatch.action.observed import HoldState
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind, Step, Wait
from accelwatch_slurm.proposals.draining import missing, not_ours
from accelwatch_slurm.proposals.fencing import has_booted
from accelwatch_slurm.texts import steps
from accelwatch_slurm.texts.annotations import reason_of
from accelwatch_slurm.texts.node_text import SlurmNode
from accelwatch_slurm.texts.observed_context import REBOOTS, ObservedContext

NO_PROGRAM = "RebootProgram is not defined in slurm.conf"


def propose_reboot(intent: Intent, context: ObservedContext, *, has_field: bool) -> Proposal:
    """Reboot a node that we hold and that is empty; seen by its boot time."""
    node = context.node
    if node is None:
        return missing(intent)
    if not has_field:
        return no_field("reboot", node.name)
    if refusal := refuse_unless_ours(context, node):
        return refusal
    if node.rebooting:
        return Wait(2.0, f"{node.name} is being rebooted")
    if outcome := _rebooted(intent, context, node):
        return outcome
    if context.jobs or node.is_("ALLOCATED", "MIXED", "COMPLETING"):
        return Wait(5.0, f"jobs still run on {node.name}")
    if node.boot_time is None:
        return Refusal(RefusalKind.UNSAFE, f"the boot time of {node.name} is not known")
    if not context.own.get(REBOOTS):
        return Refusal(RefusalKind.IMPOSSIBLE, NO_PROGRAM)
    return Step(
        kind=steps.REBOOT,
        arguments={
            "node": node.name,
            "reason": reason_of(intent),
            "asked": repr(intent.asked),
        },
        precondition={"boot": repr(node.boot_time)},
        text=f"reboot {node.name}",
    )


def _rebooted(intent: Intent, context: ObservedContext, node: SlurmNode) -> Proposal | None:
    """What has come of the requested reboot; None when it was not requested yet, or is not seen."""
    annotation = context.annotation
    if annotation is None or annotation.asked != intent.asked or annotation.boot is None:
        return None
    if has_booted(node, intent.asked, annotation.boot):
        if node.answering:
            return Achieved(f"{node.name} has booted again and answers")
        return Wait(2.0, f"slurmd of {node.name} does not answer yet")
    if "reboot timed out" in node.reason:
        return Refusal(RefusalKind.IMPOSSIBLE, f"{node.name} did not come back from its reboot")
    return None


def no_field(what: str, node: str) -> Refusal:
    """What cannot be distinguished from an earlier one without a field of the node."""
    return Refusal(
        RefusalKind.IMPOSSIBLE, f"{what} of {node}: the option mark is none, set extra or comment"
    )


def refuse_unless_ours(context: ObservedContext, node: SlurmNode) -> Refusal | None:
    """Why a node is not ours to work on."""
    if refusal := not_ours(context, node):
        return refusal
    if context.hold_state is not HoldState.OURS:
        return Refusal(RefusalKind.UNSAFE, f"{node.name} takes work: it has to be drained first")
    return None
