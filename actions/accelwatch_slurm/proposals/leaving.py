"""Which step a job needs that was requeued and has not left its bad nodes yet. Pure."""

from collections.abc import Sequence

from accelwatch.action.intent import Intent
from accelwatch.action.step import Proposal, Refusal, RefusalKind, Step, Wait
from accelwatch_slurm.proposals.job_step import hold
from accelwatch_slurm.proposals.steering import steering
from accelwatch_slurm.texts.job_text import SlurmJob
from accelwatch_slurm.texts.observed_context import LINGERING, ObservedContext

# Between polls of what comes about within moments.
POLL_S = 0.1


def propose_leaving(intent: Intent, context: ObservedContext, job: SlurmJob) -> Proposal:
    """One that was requeued leaves a node only when that answers, or is set down.

    It is held before: Slurm would begin it again by itself in the moment in which its node is set down.
    One that lingers, on a hung node or for a long epilog, is held and steered at once, for every update
    of a job begins a round of Slurm's scheduler, and nothing begins before `batch_sched_delay` after the
    last: the rounds are over when its node is found to be silent.
    """
    silent = silent_node(context, intent.may_run_on)
    components = [component for component in context.components or (job,) if component.is_requeued]
    waits = Wait(POLL_S, f"job {job.id} is still ending on its nodes")
    if not components or context.proven_dead:
        return waits
    if intent.fenced_by_job:
        if silent and context.bad[silent].down:
            return Wait(POLL_S, f"job {job.id} leaves {silent}, which is down")
    elif step := _made_ready(intent, context, job, components, at_once=bool(silent)):
        return step
    if not silent:
        return waits
    return Refusal(
        RefusalKind.UNSAFE,
        f"{silent} does not answer: fence it first, else job {job.id} never leaves it",
    )


def _made_ready(
    intent: Intent,
    context: ObservedContext,
    job: SlurmJob,
    components: Sequence[SlurmJob],
    *,
    at_once: bool,
) -> Step | None:
    """Held, and steered where there is time for it; None when nothing is left to do."""
    if not (at_once or context.own.get(LINGERING)):
        return None
    if free := next((component for component in components if component.priority != 0), None):
        return hold(intent, free)
    if at_once:
        return None
    steps = (steering(intent, context, component, job.node_count) for component in components)
    return next((step for step in steps if step is not None), None)


def silent_node(context: ObservedContext, nodes: tuple[str, ...]) -> str:
    """The first bad node whose slurmd does not answer."""
    for name in nodes:
        node = context.bad.get(name)
        if node is not None and (node.answering is False or node.down):
            return name
    return ""
