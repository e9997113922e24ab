"""What all steps share: the kind of function that does one, and how it says that nothing was done."""

from collections.abc import Awaitable, Callable

from accelwatch.action.step import Committed, Step, Told, ToldStatus
from accelwatch_slurm.commands import Commands, told

Handler = Callable[[Step, Committed], Awaitable[Told]]
DONE = Told(status=ToldStatus.DONE)


class ChangedError(Exception):
    """It is not any more as it was seen; nothing was done."""


async def updated(commands: Commands, *words: str) -> Told:
    """What `scontrol update` has told."""
    return told("scontrol", await commands.run("scontrol", "update", *words))
