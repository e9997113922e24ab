"""The step that tests a node, by srun in the node's own reservation."""

import math

import msgspec

from accelwatch.action.step import Committed, Step, Told
from accelwatch_slurm import steps
from accelwatch_slurm.changing import ChangedError, Handler, updated
from accelwatch_slurm.commands import Commands
from accelwatch_slurm.node_steps import NodeSteps
from accelwatch_slurm.reading import Reader
from accelwatch_slurm.settings import SlurmOptions
from accelwatch_slurm.standing import reservation_for_test
from accelwatch_slurm.testing import PASSED


class TrialSteps:
    """What is run on nodes."""

    def __init__(
        self, options: SlurmOptions, commands: Commands, reader: Reader, nodes: NodeSteps
    ) -> None:
        self._options = options
        self._commands = commands
        self._reader = reader
        self._nodes = nodes

    def handlers(self) -> dict[str, Handler]:
        """By kind of step."""
        return {steps.RUN_TEST: self._run_test}

    async def _run_test(self, step: Step, operation: Committed) -> Told:
        node = await self._nodes.node(step)
        name = reservation_for_test(node.name)
        if name not in await self._reader.reservations([node.name]):
            raise ChangedError(f"{node.name} is not kept for its test any more")
        limit = self._options.test_timeout_s
        job = f"{name}-{operation.operation}"
        words = [f"--reservation={name}", f"--nodelist={node.name}", "--nodes=1", "--ntasks=1"]
        words += [f"--job-name={job}", f"--time={math.ceil(limit / 60) + 1}", "--quiet"]
        argv = self._options.tests[step.arguments["test"]]
        result = await self._commands.run("srun", *words, *argv, timeout_s=limit)
        outcome = PASSED
        if result.failure:
            await self._commands.run("scancel", f"--name={job}", f"--nodelist={node.name}")
            outcome = f"fail: {result.failure}"
        elif result.status != 0:
            outcome = f"fail: ended with {result.status}"
        mark = msgspec.structs.replace(
            self._nodes.mark(node, operation), asked=float(step.arguments["asked"]), result=outcome
        )
        written = await updated(
            self._commands, f"nodename={node.name}", *self._nodes.with_mark(node, mark)
        )
        return msgspec.structs.replace(written, text=written.text or outcome)
