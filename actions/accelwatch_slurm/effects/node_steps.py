"""Steps that change a node: drain, undrain, resume, reboot."""

import contextlib

import msgspec

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.kit.performing import ChangedError
from accelwatch.action.observed import HoldState
from accelwatch.action.step import Committed, Report, ReportStatus, Step
from accelwatch.base.clock import Clock
from accelwatch_slurm.commands.changing import DONE, Handler, updated
from accelwatch_slurm.commands.commands import Commands, NotStartedError, report_of
from accelwatch_slurm.commands.options import SlurmOptions
from accelwatch_slurm.commands.reading import Reader
from accelwatch_slurm.effects.draining import Drains
from accelwatch_slurm.texts import steps
from accelwatch_slurm.texts.annotations import (
    NodeAnnotation,
    annotation_in,
    field_of,
    has_old_reason,
    incident_in,
    merged,
    without_suffix,
)
from accelwatch_slurm.texts.hold_state import hold_state_of
from accelwatch_slurm.texts.node_text import SlurmNode

# scontrol sends no empty reason: a blank is the least that replaces another.
_NO_REASON = "reason= "


class NodeSteps:
    """What is done to nodes."""

    def __init__(
        self, options: SlurmOptions, commands: Commands, reader: Reader, clock: Clock
    ) -> None:
        self._options = options
        self._commands = commands
        self._reader = reader
        self._clock = clock
        self._drains = Drains(commands, reader, self._drain_arguments)

    def handlers(self) -> dict[str, Handler]:
        """By kind of step."""
        return {
            steps.DRAIN: self._drain,
            steps.UNDRAIN: self._clear,
            steps.RESUME: self._clear,
            steps.LEAVE_DOWN: self._leave_down,
            steps.UNMARK: self._unmark,
            steps.REBOOT: self._reboot,
        }

    async def node(self, step: Step) -> SlurmNode:
        """The node of a step, read now. Raises ChangedError."""
        name = step.arguments["node"]
        node = await self._reader.node(name)
        if node is None:
            raise ChangedError(f"Slurm knows no node {name}")
        return node

    def annotation_arguments(self, node: SlurmNode, annotation: NodeAnnotation | None) -> list[str]:
        """The word that sets our key in the node's field; none where that cannot be done."""
        if self._options.mark == "none":
            return []
        text = merged(field_of(node, self._options.mark), annotation)
        return [] if text is None else [f"{self._options.mark}={text}"]

    def annotation(
        self, node: SlurmNode, operation: Committed, *, fresh: bool = False
    ) -> NodeAnnotation:
        """The mark of the operation's incident, as it stands there or new."""
        there = annotation_in(field_of(node, self._options.mark))
        if there is not None and there.i == operation.annotation.incident and not fresh:
            return there
        return NodeAnnotation(
            i=operation.annotation.incident,
            t=operation.annotation.token,
            since=self._clock.wall(),
            by=operation.annotation.by,
        )

    async def _drain(self, step: Step, operation: Committed) -> Report:
        if self._drains.gather:
            answer = await self._drains.together(step, operation)
            if answer is not None:
                return answer
        with self._drains.alone():
            arguments = self._drain_arguments(await self.node(step), step, operation)
            return (
                arguments
                if isinstance(arguments, Report)
                else await updated(self._commands, *arguments)
            )

    def _drain_arguments(
        self, node: SlurmNode | None, step: Step, operation: Committed
    ) -> list[str] | Report:
        """The words that drain a node as it was read now. Raises ChangedError."""
        if node is None:
            raise ChangedError(f"Slurm knows no node {step.arguments['node']}")
        again = step.arguments.get("keep") == "yes"
        if node.drained and incident_in(node.reason):
            return Report(status=ReportStatus.DONE, text="it is drained already")
        # Reservations were read a moment ago, and drains of a storm stand in line here.
        if node.drained or node.down:
            raise ChangedError(f"{node.name} is now held by another person or tool: {node.reason}")
        annotation = self.annotation(node, operation, fresh=not again)
        if "result" in step.arguments:
            value = step.arguments.get("value", "")
            annotation = msgspec.structs.replace(
                annotation,
                asked=float(step.arguments["asked"]),
                result=step.arguments["result"],
                value=float(value) if value else None,
                unit=step.arguments.get("unit", ""),
            )
        return [
            f"nodename={node.name}",
            "state=drain",
            f"reason={step.arguments['reason']}",
            *self.annotation_arguments(node, annotation),
        ]

    async def hold_state(self, node: SlurmNode) -> HoldState:
        """To whom a node belongs now."""
        reservations = await self._reader.reservations([node.name])
        return hold_state_of(node, reservations, self._options.mark)

    def _check_ours(self, node: SlurmNode, step: Step) -> None:
        expected = step.precondition["reason"]
        if incident_in(node.reason) != incident_in(expected) or (
            without_suffix(node.reason) != without_suffix(expected)
        ):
            raise ChangedError(f"the reason of {node.name} has changed: {node.reason}")

    async def _clear(self, step: Step, _: Committed) -> Report:
        """Remove DRAIN or DOWN, and our key with it unless it is still needed."""
        node = await self.node(step)
        if not node.drained and not node.down:
            return await self._unmark(step, _) if "keep" not in step.arguments else DONE
        self._check_ours(node, step)
        if step.kind == steps.RESUME and node.answering is False:
            raise ChangedError(f"slurmd of {node.name} does not answer any more")
        clean = [] if "keep" in step.arguments else self.annotation_arguments(node, None)
        state = "undrain" if step.kind == steps.UNDRAIN else "resume"
        answer = await updated(self._commands, f"nodename={node.name}", f"state={state}", *clean)
        if answer.status is ReportStatus.REFUSED:
            after = await self._reader.node(node.name)
            if after is not None and not after.drained and not after.down:
                answer = DONE  # Slurm refuses what is so already, or says no and does it
        if answer.status is ReportStatus.DONE and "keep" not in step.arguments:
            await self._blank_reason(node.name)
        return answer

    async def _blank_reason(self, name: str) -> None:
        """Remove our reason from a node that was opened, where Slurm keeps it, as 24.11 does.

        The node is open whatever comes of this; the next step removes a reason that stays.
        """
        with contextlib.suppress(ActionUnavailableError, NotStartedError):
            node = await self._reader.node(name)
            if node is not None and has_old_reason(node):
                await updated(self._commands, f"nodename={name}", _NO_REASON)

    async def _leave_down(self, step: Step, _: Committed) -> Report:
        """Restore Slurm's reason, and remove our key: the node is down as it was before us."""
        node = await self.node(step)
        if not incident_in(node.reason):
            return DONE
        self._check_ours(node, step)
        return await updated(
            self._commands,
            f"nodename={node.name}",
            f"reason={step.arguments['reason']}",
            *self.annotation_arguments(node, None),
        )

    async def _unmark(self, step: Step, _: Committed) -> Report:
        node = await self.node(step)
        has_key = annotation_in(field_of(node, self._options.mark)) is not None
        arguments = self.annotation_arguments(node, None) if has_key else []
        if has_old_reason(node):
            arguments.append(_NO_REASON)
        if not arguments:
            return DONE
        return await updated(self._commands, f"nodename={node.name}", *arguments)

    async def _reboot(self, step: Step, operation: Committed) -> Report:
        node = await self.node(step)
        if await self.hold_state(node) is not HoldState.OURS:
            raise ChangedError(f"{node.name} is not ours any more")
        if repr(node.boot_time) != step.precondition["boot"] or node.rebooting:
            raise ChangedError(f"{node.name} is in another boot already")
        if (await self._reader.jobs()).get(node.name):
            raise ChangedError(f"jobs run on {node.name}")
        annotation = msgspec.structs.replace(
            self.annotation(node, operation),
            boot=node.boot_time,
            asked=float(step.arguments["asked"]),
            result="",
            value=None,
            unit="",
        )
        if not (arguments := self.annotation_arguments(node, annotation)):
            raise ChangedError(
                f"the field {self._options.mark} of {node.name} is used by another tool"
            )
        written = await updated(self._commands, f"nodename={node.name}", *arguments)
        if written.status is not ReportStatus.DONE:
            return msgspec.structs.replace(written, status=ReportStatus.RETRY)
        reason = f"reason={step.arguments['reason']}"
        arguments = ["reboot", "ASAP", "nextstate=DOWN", reason, node.name]
        try:
            answer = report_of("scontrol", await self._commands.change("scontrol", *arguments))
        except NotStartedError as error:
            # The mark says what was about to be done, and does nothing by itself.
            return Report(status=ReportStatus.NOT_STARTED, text=str(error))
        if answer.status is ReportStatus.DONE:
            return Report(status=ReportStatus.ACCEPTED)
        return answer
