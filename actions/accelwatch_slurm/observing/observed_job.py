"""The job of an intent in the words of the contract. Pure."""

import msgspec

from accelwatch.action.intent import JobKey
from accelwatch.action.observed import JobObservation, JobState
from accelwatch_slurm.commands.options import SlurmOptions
from accelwatch_slurm.texts.job_components import nodes_of
from accelwatch_slurm.texts.job_text import SlurmJob
from accelwatch_slurm.texts.observed_context import CHECKPOINT, ObservedContext


def job_in_context(key: JobKey, context: ObservedContext, options: SlurmOptions) -> JobObservation:
    """The job with the nodes of all its components and its newest two checkpoints."""
    observed, lines = observed_job(key, context.job), context.own.get(CHECKPOINT, "")
    if context.job is not None and observed.failed:
        declined = _declined(context.job, options.no_restart_exit_code)
        observed = msgspec.structs.replace(observed, declined=declined)
    if context.components and observed.nodes:
        observed = msgspec.structs.replace(observed, nodes=nodes_of(context.components))
    checkpoints = options.checkpoints
    if checkpoints is None or not lines:
        return observed
    newest, earlier = checkpoints.read(lines)
    step = checkpoints.step_of(str(key), newest)
    return msgspec.structs.replace(observed, checkpoint=newest, earlier=earlier, step=step)


def _declined(job: SlurmJob, code: int) -> str:
    """Why a job that has died is not to be restarted, as its launcher says by its exit code."""
    if not code or job.exit_code != f"{code}:0":
        return ""
    return f"its own launcher asks that it is not restarted (exit code {code})"


def observed_job(key: JobKey, job: SlurmJob | None) -> JobObservation:
    """The job in the words of the contract, under the requested key."""
    if job is None or not job.is_of(key):
        return JobObservation(key=key, state=JobState.MISSING)
    return JobObservation(
        key=key,
        state=job.state,
        user=job.user,
        submitted=job.submitted,
        nodes=job.nodes,
        restarts=job.restarts,
        started=job.started,
        may_start=job.may_start,
        requeueable=job.requeueable,
        interactive=not job.batch,
        failed=job.died,
        text=f"{job.slurm_state.lower()}, exit code {job.exit_code}" if job.died else job.reason,
    )
