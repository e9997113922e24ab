"""What all steps share: the kind of function that does one, and how it says that nothing was done."""

from collections.abc import Awaitable, Callable

from accelwatch.action.step import Committed, Report, ReportStatus, Step
from accelwatch_slurm.commands.commands import Commands, report_of
from accelwatch_slurm.texts.job_text import SlurmJob

Handler = Callable[[Step, Committed], Awaitable[Report]]
DONE = Report(status=ReportStatus.DONE)


async def release_job(commands: Commands, job: SlurmJob, token: str) -> Report:
    """Release a job that we hold; our token in its comment is removed last."""
    answer = report_of("scontrol", await commands.change("scontrol", "release", job.handle))
    if answer.status is not ReportStatus.DONE or token not in job.admin_comment:
        return answer
    comment = job.admin_comment.replace(token, "").strip()
    return await updated(commands, f"jobid={job.handle}", f"admincomment={comment}")


async def updated(commands: Commands, *arguments: str) -> Report:
    """The report of `scontrol update`."""
    return report_of("scontrol", await commands.change("scontrol", "update", *arguments))
