"""Drains that come together: one read shows all nodes, and one command follows at once for all.

A drain that comes while one is under way is part of the next. Each is decided upon by what that read
shows of its node, as it would be alone.
"""

import asyncio
import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.kit.performing import ChangedError
from accelwatch.action.step import Committed, Report, ReportStatus, Step
from accelwatch_slurm.commands.changing import DONE
from accelwatch_slurm.commands.commands import Commands, NotStartedError, report_of, started_lines
from accelwatch_slurm.commands.reading import Reader
from accelwatch_slurm.texts.node_text import SlurmNode
from accelwatch_slurm.texts.steps import MOST_TOGETHER

_REASON = re.compile(r"reason=[\w .,:;/()+%=@\-]+", re.ASCII)
_EXTRA = re.compile(r'extra=(?:[\w.,:{}\[\]+\-]|"[\w.,: /()+\-]*")*', re.ASCII)
# Words that scontrol reads from a line as they are; whatever has other signs goes alone.
_PLAIN = re.compile(r"(?:nodename|state)=[\w.\-]+", re.ASCII)

# What drains a node, or what is to be reported instead. Raises ChangedError.
DrainArguments = Callable[[SlurmNode | None, Step, Committed], list[str] | Report]


class _DrainRequest(NamedTuple):
    step: Step
    operation: Committed
    answer: "asyncio.Future[Report | None]"


class Drains:
    """For one event loop at a time."""

    def __init__(self, commands: Commands, reader: Reader, arguments_for: DrainArguments) -> None:
        self._commands = commands
        self._reader = reader
        self._arguments_for = arguments_for
        # Held by one batch. Drains that come meanwhile gather in `_requests` and are the next
        # batch.
        self._lock = asyncio.Lock()
        self._requests: list[_DrainRequest] = []
        self._alone = 0

    @property
    def gather(self) -> bool:
        """Whether a drain had better wait for others: many read, or one is under way already."""
        return self._reader.in_a_rush or self._alone > 0 or self._lock.locked()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """A drain is done by commands of its own; who comes meanwhile gathers."""
        self._alone += 1
        try:
            yield
        finally:
            self._alone -= 1

    async def together(self, step: Step, operation: Committed) -> Report | None:
        """What has become of it; None when nothing has, and it is to be done alone.

        Raises ActionUnavailableError, ChangedError.
        """
        answer: asyncio.Future[Report | None] = asyncio.get_running_loop().create_future()
        request = _DrainRequest(step, operation, answer)
        self._requests.append(request)
        try:
            async with self._lock:
                if not answer.done():
                    await self._next()
        finally:
            # Who gives up waiting is not drained later.
            self._requests = [other for other in self._requests if other is not request]
            if answer.done():
                answer.exception()  # nobody else hears of it
        return answer.result()

    async def _next(self) -> None:
        await asyncio.sleep(0)  # who comes in the same moment comes along
        some, self._requests = self._requests[:MOST_TOGETHER], self._requests[MOST_TOGETHER:]
        try:
            await self._drain(some)
        except ActionUnavailableError as error:
            for request in some:
                _fail(request, ActionUnavailableError(str(error)))
        finally:
            for request in some:
                _resolve(
                    request, Report(status=ReportStatus.UNKNOWN, text="the command was broken off")
                )

    async def _drain(self, some: list[_DrainRequest]) -> None:
        if all(map(_is_withdrawn, some)):
            return
        nodes = await self._reader.nodes_now()
        lines: list[str] = []
        drained: list[_DrainRequest] = []
        for request in some:
            if not _is_withdrawn(request) and (line := self._line(request, nodes)) is not None:
                lines.append(line)
                drained.append(request)
        if lines:
            await self._send(lines, drained)

    def _line(self, request: _DrainRequest, nodes: Mapping[str, SlurmNode]) -> str | None:
        """The line that drains a node as it was read now; None where something else was reported."""
        try:
            arguments = self._arguments_for(
                nodes.get(request.step.arguments["node"]), request.step, request.operation
            )
        except (ChangedError, KeyError, ValueError) as error:
            _fail(request, error)
            return None
        if isinstance(arguments, Report):
            _resolve(request, arguments)
            return None
        line = line_of(arguments)
        if line is None:
            _resolve(request, None)
        return line

    async def _send(self, lines: list[str], drained: list[_DrainRequest]) -> None:
        """Have all of it done by one command, which is killed when nothing of it is wanted any more."""
        try:
            result = await self._commands.all_of(lines, lambda: all(map(_withdrawn, drained)))
        except NotStartedError:
            for request in drained:
                _is_withdrawn(request)
            return
        if result.failure == "broken off":
            for request in drained[started_lines(lines, result) :]:
                _is_withdrawn(request)
        answer = _of_each(report_of("scontrol", result))
        for request in drained:
            _resolve(request, answer)


def _withdrawn(request: _DrainRequest) -> str:
    return request.operation.withdrawn()


def _is_withdrawn(request: _DrainRequest) -> bool:
    """Whether a drain that has not started was withdrawn: then it is reported so."""
    if why := _withdrawn(request):
        _resolve(request, Report(status=ReportStatus.NOT_STARTED, text=why))
    return bool(why)


def _of_each(answer: Report) -> Report | None:
    """What the answer to all says of one: where one of them is refused, each is read alone."""
    if answer.status is ReportStatus.DONE:
        return DONE
    return answer if answer.status is ReportStatus.UNKNOWN else None


def line_of(arguments: list[str]) -> str | None:
    """The words as a line for scontrol; None when they have signs that mean something to it there."""
    line = ["update"]
    for argument in arguments:
        if _REASON.fullmatch(argument):
            line.append(f'reason="{argument.removeprefix("reason=")}"')
        elif _PLAIN.fullmatch(argument) or _EXTRA.fullmatch(argument):
            line.append(argument)
        else:
            return None
    return " ".join(line)


def _resolve(request: _DrainRequest, answer: Report | None) -> None:
    if not request.answer.done():
        request.answer.set_result(answer)


def _fail(request: _DrainRequest, error: Exception) -> None:
    if not request.answer.done():
        request.answer.set_exception(error)
