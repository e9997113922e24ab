"""Which step signals a job to save a checkpoint, or ends it. Pure."""

from accelwatch.action.intent import Intent
from accelwatch.action.observed import JobState
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind, Wait
from accelwatch_slurm.proposals.job_step import job_step
from accelwatch_slurm.texts import steps
from accelwatch_slurm.texts.job_components import combined, is_complete
from accelwatch_slurm.texts.observed_context import SIGNALLED, ObservedContext


def propose_signal(intent: Intent, context: ObservedContext) -> Proposal:
    """Signal the job to save a checkpoint."""
    job = context.job
    if intent.job is None or job is None or not job.is_of(intent.job):
        return Refusal(RefusalKind.IMPOSSIBLE, f"Slurm knows no job {intent.job} any more")
    if context.own.get(SIGNALLED):
        return Achieved(f"job {job.id} was sent {intent.signal}")
    if job.state is not JobState.RUNNING:
        return Refusal(RefusalKind.IMPOSSIBLE, f"job {job.id} does not run")
    if not (intent.signal.isascii() and intent.signal.isalnum()):
        return Refusal(RefusalKind.IMPOSSIBLE, f"no signal: {intent.signal!r}")
    return job_step(
        steps.SIGNAL,
        job,
        f"send {intent.signal} to job {job.id}",
        precondition={"restarts": str(job.restarts)},
        signal=intent.signal,
        asked=repr(intent.asked),
    )


def propose_cancel(intent: Intent, context: ObservedContext) -> Proposal:
    """End it; a job that is not known any more, or is another by now, has ended."""
    job = combined(context.components) if is_complete(context.components) else context.job
    if intent.job is None or job is None or not job.is_of(intent.job):
        return Achieved(f"Slurm knows no job {intent.job} any more")
    if job.state is JobState.FINISHED:
        return Achieved(f"job {job.id} has ended: {job.slurm_state.lower()}")
    if job.state is JobState.COMPLETING:
        return Wait(1.0, f"job {job.id} is still ending on its nodes")
    if intent.node not in job.nodes:
        return Achieved(f"job {job.id} has left {intent.node}")
    return job_step(
        steps.CANCEL,
        job,
        f"cancel job {job.id}",
        precondition={"restarts": str(job.restarts)},
    )
