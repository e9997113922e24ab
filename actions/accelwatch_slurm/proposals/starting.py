"""Which step leads from a job that has left its bad nodes to one that runs again. Pure.

A job whose old copy may still run is not restarted.
"""

from accelwatch.action.intent import Intent
from accelwatch.action.observed import JobState
from accelwatch.action.step import Proposal, Refusal, RefusalKind, Wait
from accelwatch_slurm.proposals.job_step import hold, job_step, release_reservation
from accelwatch_slurm.proposals.leaving import POLL_S, silent_node
from accelwatch_slurm.proposals.steering import NEXT_SECOND_S, is_roomy, steering
from accelwatch_slurm.texts import steps
from accelwatch_slurm.texts.job_text import SlurmJob
from accelwatch_slurm.texts.observed_context import ObservedContext, hold_token, reservation_of

# A job that may start and has nodes has started by then, also with the default `batch_sched_delay`.
_SOON_S = 6.0
# Between polls of one that waits for longer, which may be for hours.
_LATER_S = 2.0
_FAILED_LAUNCH = "launch_failed_requeued_held"
_NO_NODES = "BadConstraints"
_NO_NODES_S = 2.0


def propose_start(intent: Intent, context: ObservedContext, job: SlurmJob) -> Proposal:
    """Each component has lists and a moment of its own; they begin together when all may."""
    waits: Proposal = Wait(0.25, f"job {job.id} waits")
    for component in context.components or (job,):
        waits = _again(intent, context, component, job.node_count)
        if not isinstance(waits, Wait):
            break
    return waits


def _again(intent: Intent, context: ObservedContext, job: SlurmJob, count: int) -> Proposal:
    """A job that waits since its requeue, or a component of it; all of it has `count` nodes."""
    if refusal := _unproven(intent, context, job):
        return refusal
    failed = job.reason.lower().replace(" ", "_") == _FAILED_LAUNCH
    ours = hold_token(intent) in job.admin_comment
    if job.state is JobState.HELD and not (ours or failed or job.reason == _NO_NODES):
        return Refusal(
            RefusalKind.OVERRIDDEN, f"job {job.id} is held by another person or tool: {job.reason}"
        )
    if step := steering(intent, context, job, count):
        return step
    there = context.reservations.get(reservation_of(intent))
    left = not any(
        component.reservation == reservation_of(intent) for component in context.components
    )
    if there is not None and left and not is_roomy(intent, count, there.nodes):
        return release_reservation(intent, job.id)  # nobody may use its nodes, the job neither
    if job.state is JobState.HELD and job.reason == _NO_NODES:
        # Slurm removes the priority while no nodes fit, and restores it when some do: nobody holds it.
        return Wait(_NO_NODES_S, f"job {job.id} waits: no nodes fit it now")
    if job.state is JobState.HELD:
        return job_step(steps.LET_GO, job, f"let job {job.id} go", word=hold_token(intent))
    if job.may_start is not None and job.may_start > context.time:
        early = job.submitted + NEXT_SECOND_S - context.time
        if early > 0:
            return Wait(
                min(early, NEXT_SECOND_S), "the next second, else slurmd revokes the launch"
            )
        return job_step(steps.START, job, f"let job {job.id} start now")
    started = job.submitted if job.may_start is None else max(job.may_start, job.submitted)
    seconds = POLL_S if context.time - started < _SOON_S else _LATER_S
    return Wait(seconds, f"job {job.id} waits: {job.reason or 'for the scheduler'}")


def _unproven(intent: Intent, context: ObservedContext, job: SlurmJob) -> Proposal | None:
    if intent.fenced_by_job or context.proven_dead:
        return None
    silent = silent_node(context, intent.may_run_on)
    if not silent:
        return None
    if job.state is not JobState.HELD:
        return hold(intent, job)
    return Refusal(
        RefusalKind.UNSAFE,
        f"the old copy of job {job.id} may still run on {silent}: fence it first",
    )
