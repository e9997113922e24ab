"""What all steps share: the kind of function that does one, and how it says that nothing was done."""

from collections.abc import Awaitable, Callable

from accelwatch.action.step import Committed, Step, Told, ToldStatus
from accelwatch_slurm.commands.commands import Commands, told
from accelwatch_slurm.texts.job_text import SlurmJob

Handler = Callable[[Step, Committed], Awaitable[Told]]
DONE = Told(status=ToldStatus.DONE)


class ChangedError(Exception):
    """It is not any more as it was seen; nothing was done."""


async def let_go(commands: Commands, job: SlurmJob, word: str) -> Told:
    """Have a job that we hold begun again; the word by which we know it is taken away last."""
    answer = told("scontrol", await commands.change("scontrol", "release", job.handle))
    if answer.status is not ToldStatus.DONE or word not in job.admin_comment:
        return answer
    comment = job.admin_comment.replace(word, "").strip()
    return await updated(commands, f"jobid={job.handle}", f"admincomment={comment}")


async def updated(commands: Commands, *words: str) -> Told:
    """What `scontrol update` has told."""
    return told("scontrol", await commands.change("scontrol", "update", *words))
