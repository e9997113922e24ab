"""A scheduler that has lost its state, and our marks with it: nobody wished its nodes open. Pure.

A person who gives a node back does so under the same start of the scheduler's controller under which our
mark was last seen, or leaves our key on the node. What a restarted controller shows as open,
without our key, it has forgotten. So it is with a node that was deleted and made again under its name.
"""

from collections.abc import Iterable, Sequence
from functools import partial

from accelwatch.action.intent import IntentKind
from accelwatch.action.observed import NodeObservation
from accelwatch.alerting.rules.document import Mode
from accelwatch.remediation.policy.context.cases import leading
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.guards.denial import Denial
from accelwatch.remediation.policy.jobs.readings import is_current
from accelwatch.remediation.policy.state.model import NodeQuarantine, Remedy
from accelwatch.remediation.policy.state.stage import Stage

# Stages in which a node whose mark was lost still counts as quarantined.
WAITS_FOR_ANNOTATION = frozenset(
    {
        Stage.SUSPECT,
        Stage.AWAITING_APPROVAL,
        Stage.UNREACHABLE,
        Stage.QUARANTINING,
        Stage.FAILED,
        Stage.UNKNOWN,
    }
)
_MOST_NAMED = 20


def controller_boot(ctx: StepView, target: str) -> str:
    """Start of the controller whose scheduler shows a node; empty where it does not say."""
    scheduler = ctx.world.schedulers.get(ctx.world.shown_by.get(target, ""))
    return "" if scheduler is None else scheduler.controller_boot


def is_lost(ctx: StepView, remedy: Remedy, observation: NodeObservation | None) -> bool:
    """Whether a node of ours is open because its scheduler has forgotten our mark."""
    quarantine = remedy.hold
    if quarantine is None or observation is None or observation.annotation is not None:
        return False
    if _is_new_anywhere(quarantine, observation):
        return True
    if not quarantine.controller_boot:
        return False
    return controller_boot(ctx, observation.name) not in ("", quarantine.controller_boot)


def _is_new_anywhere(quarantine: NodeQuarantine, observation: NodeObservation) -> bool:
    """Whether a node was made, in one of its schedulers at least, after our mark was set.

    A pair has a token for each scheduler that has the node; an observation with fewer lacks a scheduler.
    """
    if quarantine.observed_at is None:
        return False
    return not set(observation.incarnation.split()) <= set(quarantine.incarnation.split())


def remains_ours(ctx: StepContext, remedy: Remedy, observation: NodeObservation) -> bool:
    """Whether what is left of our mark stands for all of it: nobody has undone the rest.

    The node is new where the rest would be, or the rest could not be set yet. A quarantine sets that
    too, unless nothing is wrong now.
    """
    is_incomplete = remedy.hold is None and remedy.stage in WAITS_FOR_ANNOTATION - {Stage.UNKNOWN}
    if remedy.mark_lost or is_incomplete:
        return True
    return is_lost(ctx, remedy, observation) and _is_over(ctx, remedy)


def lost_annotations(ctx: StepContext) -> frozenset[str]:
    """Nodes whose scheduler has lost our mark."""
    return frozenset(node for node, remedy in ctx.state.remedies.items() if remedy.mark_lost)


def notify_state_lost(ctx: StepContext, action: str, nodes: Iterable[str]) -> None:
    """Notify a person once of all nodes that one scheduler was just observed to have forgotten."""
    remedies = [ctx.remedy(node) for node in sorted(nodes)]
    if not remedies:
        return
    awaiting = [remedy for remedy in remedies if _needs_approval(ctx, remedy)]
    by_itself = [
        remedy for remedy in remedies if remedy not in awaiting and not _is_over(ctx, remedy)
    ]
    over = [remedy for remedy in remedies if _is_over(ctx, remedy)]
    made_again = any(map(partial(_has_incarnation, ctx), remedies))
    text = (
        f"{_what_was_lost(ctx, action, remedies, made_again)}, but accelwatch did not release them."
    )
    if by_itself:
        text += (
            f" Taken out again, as the fault is still seen and its rule acts without asking, or as a "
            f"person took it out: {_names(by_itself)}."
        )
    if awaiting:
        text += (
            f" Waiting for your yes: {_names(awaiting)} (accelwatch remedy plan NODE shows how to say "
            "it, accelwatch remedy quarantine NODE --reason WHY takes it out at once, "
            "accelwatch remedy release NODE --force --reason WHY leaves it open)."
        )
    if over:
        text += f" Nothing is wrong any more with {_names(over)}, which stays open."
    lost_too = "Taints, cordons and labels" if made_again else "Drains and reservations"
    ctx.call(f"{text} {lost_too} that people had set there are lost, too: check them.")


def _what_was_lost(
    ctx: StepContext, action: str, remedies: Sequence[Remedy], made_again: bool
) -> str:
    names, are = _names(remedies), _are(remedies)
    half = next(filter(None, (_undone(ctx, remedy) for remedy in remedies)), "")
    if half:
        return f"{names} {are} open to jobs, made again or added since: {half}"
    if made_again:
        was = "was" if len(remedies) == 1 else "were"
        return f"{names} {was} deleted and made again in {action}, and {are} open to jobs"
    return f"{action} has lost its state: {names} {are} open to jobs again"


def _undone(ctx: StepContext, remedy: Remedy) -> str:
    """What one of two schedulers does not show; empty where the node is open altogether."""
    observation = ctx.world.scheduler_nodes.get(ctx.target(remedy))
    return "" if observation is None else observation.undone


def _has_incarnation(ctx: StepContext, remedy: Remedy) -> bool:
    """Whether its scheduler makes an object of each node, and may make it again."""
    observation = ctx.world.scheduler_nodes.get(ctx.target(remedy))
    return observation is not None and bool(observation.incarnation)


def _is_over(ctx: StepContext, remedy: Remedy) -> bool:
    return not (remedy.approval.manual or remedy.repair.unfit or leading(ctx, remedy))


def _needs_approval(ctx: StepContext, remedy: Remedy) -> bool:
    """Whether no rule quarantines it again by itself, on what is observed now."""
    if remedy.approval.manual or _is_over(ctx, remedy):
        return False
    return not any(
        case.policy.reach >= Mode.AUTO.reach
        and case.standing
        and not (case.blind or case.orphaned)
        and not isinstance(is_current(ctx, remedy, IntentKind.QUARANTINE, case), Denial)
        for case in leading(ctx, remedy)
    )


def _names(remedies: Sequence[Remedy]) -> str:
    names = [remedy.node for remedy in remedies[:_MOST_NAMED]]
    left = len(remedies) - len(names)
    return ", ".join(names) + (f" and {left} more" if left else "")


def _are(remedies: Sequence[Remedy]) -> str:
    return "is" if len(remedies) == 1 else "are"
