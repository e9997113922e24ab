"""What a job wrote where all nodes see it: its checkpoints and its cycle file."""

import sys

from accelwatch.action import cycle_files
from accelwatch.action.intent import JobKey
from accelwatch_slurm.commands.commands import Commands
from accelwatch_slurm.commands.options import SlurmOptions

# For the search of a checkpoint; what is not found in time is not known.
_SEARCH_S = 5.0


class JobFiles:
    """Reads them in programs of their own, which end in time where a shared file system hangs."""

    def __init__(self, options: SlurmOptions, commands: Commands) -> None:
        self._options = options
        self._commands = commands

    async def checkpoint(self, key: JobKey) -> str:
        """The newest two checkpoints of a job, a line each; empty where none is found in time."""
        options = self._options.checkpoints
        if options is None:
            return ""
        result = await self._commands.program(options.search(str(key)), _SEARCH_S)
        return result.output.decode("utf-8", "replace") if result.ok else ""

    async def cycle(self, key: JobKey) -> str:
        """The text of a job's newest cycle file; empty where none is read in time."""
        folder = self._options.cycle_info
        if not folder:
            return ""
        argv = (sys.executable, "-IS", cycle_files.__file__, folder, key.id)
        result = await self._commands.program(argv, _SEARCH_S)
        return result.output.decode("utf-8", "replace") if result.ok else ""
