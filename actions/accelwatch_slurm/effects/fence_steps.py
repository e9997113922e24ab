"""Steps that make sure that nothing runs on a node any more: set down, power off."""

import msgspec

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.kit.performing import ChangedError
from accelwatch.action.observed import HoldState
from accelwatch.action.power_switch import command_for
from accelwatch.action.step import Committed, Report, ReportStatus, Step
from accelwatch_slurm.commands.changing import Handler, release_job, updated
from accelwatch_slurm.commands.commands import Commands, report_of
from accelwatch_slurm.commands.options import SlurmOptions
from accelwatch_slurm.commands.reading import Reader, is_node_name
from accelwatch_slurm.effects.node_steps import NodeSteps
from accelwatch_slurm.proposals.fencing import is_kept_off, is_lost
from accelwatch_slurm.texts import steps
from accelwatch_slurm.texts.job_text import SlurmJob
from accelwatch_slurm.texts.node_text import SlurmNode


class FenceSteps:
    """What is done to a node that does not answer."""

    def __init__(
        self, options: SlurmOptions, commands: Commands, reader: Reader, nodes: NodeSteps
    ) -> None:
        self._options = options
        self._commands = commands
        self._reader = reader
        self._nodes = nodes

    def handlers(self) -> dict[str, Handler]:
        """By kind of step."""
        return {steps.SET_DOWN: self._set_down, steps.POWER_OFF: self._power_off}

    async def _set_down(self, step: Step, operation: Committed) -> Report:
        """Set it down, and let those jobs go at once that wait for nothing else.

        The scheduler begins a round within the second, and no other for `batch_sched_delay` after that.
        A job that is not let go here is by its own move.
        """
        node = await self._nodes.node(step)
        if await self._nodes.hold_state(node) is HoldState.FOREIGN:
            raise ChangedError(f"{node.name} is now held by another person or tool: {node.reason}")
        jobs = await self._ready(step, node)
        annotation = msgspec.structs.replace(
            self._nodes.annotation(node, operation, fresh=True),
            boot=node.boot_time,
            slurmd=node.slurmd_start,
        )
        answer = await updated(
            self._commands,
            f"nodename={node.name}",
            "state=down",
            f"reason={step.arguments['reason']}",
            *self._nodes.annotation_arguments(node, annotation),
        )
        if answer.status is ReportStatus.DONE:
            for job in jobs:
                await updated(self._commands, f"jobid={job.handle}", "starttime=now")
                await release_job(self._commands, job, step.arguments["word"])
        return answer

    async def _ready(self, step: Step, node: SlurmNode) -> list[SlurmJob]:
        """Its jobs, read now, that are held for it and would leave no other silent node by that."""
        if not step.arguments.get("jobs"):
            return []
        try:
            nodes = await self._reader.nodes_now()
            jobs = [await self._reader.job(name) for name in step.arguments["jobs"].split()]
        except ActionUnavailableError:
            return []
        well = {name for name, other in nodes.items() if other.answering and not other.down}
        return [
            job
            for job in jobs
            if job is not None
            and job.is_requeued
            and job.priority == 0
            and step.arguments["word"] in job.admin_comment
            and is_kept_off(job, node.name)
            and set(job.nodes) <= {node.name, *well}
        ]

    async def _power_off(self, step: Step, _: Committed) -> Report:
        name = step.arguments["node"]
        if not is_node_name(name) or not self._options.power_off:
            raise ChangedError("the option power_off is not set")
        node = await self._nodes.node(step)
        out = node.down or is_lost(node)
        if not out or await self._nodes.hold_state(node) is not HoldState.OURS:
            raise ChangedError(f"{name} is not out for us, or answers again")
        argv = command_for(self._options.power_off, name)
        result = await self._commands.change_by(argv, self._options.power_timeout_s)
        answer = report_of("power_off", result)
        if answer.status is ReportStatus.DONE:
            return answer
        return msgspec.structs.replace(answer, status=ReportStatus.UNKNOWN)
