"""The step that tests a node: a batch job in the node's own reservation, so that Slurm shows its end."""

import math

from accelwatch.action.kit.performing import ChangedError
from accelwatch.action.step import Committed, Report, ReportStatus, Step
from accelwatch_slurm.commands.changing import DONE, Handler
from accelwatch_slurm.commands.commands import Commands, report_of
from accelwatch_slurm.commands.options import SlurmOptions
from accelwatch_slurm.commands.reading import Reader
from accelwatch_slurm.texts import steps
from accelwatch_slurm.texts.hold_state import reservation_for_test
from accelwatch_slurm.texts.test_output import command_of, script_of


class TrialSteps:
    """What is run on nodes."""

    def __init__(self, options: SlurmOptions, commands: Commands, reader: Reader) -> None:
        self._options = options
        self._commands = commands
        self._reader = reader

    def handlers(self) -> dict[str, Handler]:
        """By kind of step."""
        return {steps.RUN_TEST: self._run_test}

    async def _run_test(self, step: Step, _: Committed) -> Report:
        node, name = step.arguments["node"], step.arguments["name"]
        peer = step.arguments.get("peer", "")
        nodes = [node, peer] if peer else [node]
        reservation = reservation_for_test(node)
        if reservation not in await self._reader.reservations([node]):
            raise ChangedError(f"{node} is no longer reserved for its test")
        if await self._reader.trial_line(name):
            return DONE
        minutes = math.ceil(self._options.test_timeout_s / 60)
        argv = command_of(self._options.tests[step.arguments["test"]], node, peer)
        script = script_of(argv, self._commands.path_of("scontrol"))
        arguments = [
            f"--reservation={reservation}",
            f"--nodelist={','.join(nodes)}",
            f"--nodes={len(nodes)}",
            "--no-requeue",
        ]
        arguments += [f"--job-name={name}", f"--time={minutes}", "--chdir=/", "--output=/dev/null"]
        arguments += ["--parsable", f"--wrap={script}"]
        answer = report_of("sbatch", await self._commands.change("sbatch", *arguments))
        if answer.status is not ReportStatus.DONE:
            return answer
        return Report(status=ReportStatus.ACCEPTED)
