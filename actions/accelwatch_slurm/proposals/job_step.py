"""Steps about a job, as all who propose one write them. Pure."""

from collections.abc import Mapping

from accelwatch.action.intent import Intent
from accelwatch.action.step import Step
from accelwatch_slurm.texts import steps
from accelwatch_slurm.texts.job_text import SlurmJob
from accelwatch_slurm.texts.observed_context import ObservedContext, hold_token, reservation_of

# Of a reservation before it is renewed: what nobody deletes ends by itself. A move that has
# not led to a running job is given up after half an hour.
RESERVATION_MINUTES = 720


def job_step(
    kind: str, job: SlurmJob, text: str, precondition: Mapping[str, str] | None = None, **more: str
) -> Step:
    """One about the job as it runs, or waits, now."""
    return Step(
        kind=kind,
        arguments={"job": job.id, **more},
        precondition=precondition or {"restarts": str(job.restarts)},
        text=text,
    )


def hold(intent: Intent, job: SlurmJob) -> Step:
    """Slurm does not begin it before it is let go."""
    return Step(
        kind=steps.HOLD,
        arguments={"job": job.id, "word": hold_token(intent), "comment": job.admin_comment},
        precondition={"restarts": str(job.restarts)},
        original={f"priority{job.component}": str(job.priority)},
        text=f"hold job {job.id} until it cannot run twice",
    )


def renew_reservation(intent: Intent, context: ObservedContext, job: str) -> Step | None:
    """Have the reservation of a job last longer, where less than half of its time is left.

    Slurm ends a job that still runs in a reservation when that ends (ResvOverRun).
    """
    there = context.reservations.get(reservation_of(intent))
    if (
        there is None
        or there.end_time is None
        or there.end_time - context.time > RESERVATION_MINUTES * 30.0
    ):
        return None
    return Step(
        kind=steps.RENEW_RESERVATION,
        arguments={"name": reservation_of(intent), "minutes": str(RESERVATION_MINUTES)},
        precondition={"ends": repr(there.end_time)},
        text=f"keep the reservation of job {job} for {RESERVATION_MINUTES // 60} hours more",
    )


def release_reservation(intent: Intent, job: str) -> Step:
    """Delete the reservation that kept a job's nodes."""
    return Step(
        kind=steps.DELETE_RESERVATION,
        arguments={"name": reservation_of(intent)},
        text=f"release the reservation of job {job}",
    )
