"""Steps about a job, as all who propose one write them. Pure."""

from collections.abc import Mapping

from accelwatch.action.intent import Intent
from accelwatch.action.step import Step
from accelwatch_slurm import steps
from accelwatch_slurm.job_text import SlurmJob
from accelwatch_slurm.scene import held_word, place_of


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
        arguments={"job": job.id, "word": held_word(intent), "comment": job.admin_comment},
        precondition={"restarts": str(job.restarts)},
        original={f"priority{job.component}": str(job.priority)},
        text=f"hold job {job.id} until it cannot run twice",
    )


def give_place_back(intent: Intent, job: str) -> Step:
    """Delete the reservation that kept the place of a job."""
    return Step(
        kind=steps.DELETE_RESERVATION,
        arguments={"name": place_of(intent)},
        text=f"give back what was kept for job {job}",
    )
