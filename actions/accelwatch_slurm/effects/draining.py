"""Drains that come together: all nodes are looked at once, and one command follows at once for all.

Whoever comes while one is under way is part of the next. Each drain is decided upon by what that look
shows of its node, as it would be alone.
"""

import asyncio
import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.step import Committed, Step, Told, ToldStatus
from accelwatch_slurm.commands.changing import DONE, ChangedError
from accelwatch_slurm.commands.commands import Commands, NotBegunError, begun, told
from accelwatch_slurm.commands.reading import Reader
from accelwatch_slurm.texts.node_text import SlurmNode
from accelwatch_slurm.texts.steps import MOST_TOGETHER

_REASON = re.compile(r"reason=[\w .,:;/()+%=@\-]+", re.ASCII)
_EXTRA = re.compile(r'extra=(?:[\w.,:{}\[\]+\-]|"[\w.,: /()+\-]*")*', re.ASCII)
_PLAIN = re.compile(r"(?:nodename|state)=[\w.\-]+", re.ASCII)
"""Words that scontrol takes from a line as they are; whatever has other signs goes alone."""

Words = Callable[[SlurmNode | None, Step, Committed], list[str] | Told]
"""What drains a node, or what is to be told instead. Raises ChangedError."""


class _Asked(NamedTuple):
    step: Step
    operation: Committed
    answer: "asyncio.Future[Told | None]"


class Drains:
    """For one event loop at a time."""

    def __init__(self, commands: Commands, reader: Reader, words: Words) -> None:
        self._commands = commands
        self._reader = reader
        self._words = words
        self._lock = asyncio.Lock()
        self._asked: list[_Asked] = []
        self._alone = 0

    @property
    def gather(self) -> bool:
        """Whether a drain had better wait for others: many look, or one is under way already."""
        return self._reader.in_a_rush or self._alone > 0 or self._lock.locked()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """A drain is done by commands of its own; who comes meanwhile gathers."""
        self._alone += 1
        try:
            yield
        finally:
            self._alone -= 1

    async def together(self, step: Step, operation: Committed) -> Told | None:
        """What has become of it; None when nothing has, and it is to be done alone.

        Raises ActionUnavailableError, ChangedError.
        """
        answer: asyncio.Future[Told | None] = asyncio.get_running_loop().create_future()
        asked = _Asked(step, operation, answer)
        self._asked.append(asked)
        try:
            async with self._lock:
                if not answer.done():
                    await self._next()
        finally:
            # Who gives up waiting is not drained later.
            self._asked = [one for one in self._asked if one is not asked]
            if answer.done():
                answer.exception()  # nobody else hears of it
        return answer.result()

    async def _next(self) -> None:
        await asyncio.sleep(0)  # who comes in the same moment comes along
        some, self._asked = self._asked[:MOST_TOGETHER], self._asked[MOST_TOGETHER:]
        try:
            await self._drain(some)
        except ActionUnavailableError as error:
            for one in some:
                _fail(one, ActionUnavailableError(str(error)))
        finally:
            for one in some:
                _tell(one, Told(status=ToldStatus.UNKNOWN, text="the command was broken off"))

    async def _drain(self, some: list[_Asked]) -> None:
        if all(map(_is_withdrawn, some)):
            return
        nodes = await self._reader.nodes_now()
        lines: list[str] = []
        drained: list[_Asked] = []
        for one in some:
            if not _is_withdrawn(one) and (line := self._line(one, nodes)) is not None:
                lines.append(line)
                drained.append(one)
        if lines:
            await self._send(lines, drained)

    def _line(self, one: _Asked, nodes: Mapping[str, SlurmNode]) -> str | None:
        """The line that drains a node as it was read now; None where something else was told."""
        try:
            words = self._words(nodes.get(one.step.arguments["node"]), one.step, one.operation)
        except (ChangedError, KeyError, ValueError) as error:
            _fail(one, error)
            return None
        if isinstance(words, Told):
            _tell(one, words)
            return None
        line = line_of(words)
        if line is None:
            _tell(one, None)
        return line

    async def _send(self, lines: list[str], drained: list[_Asked]) -> None:
        """Have all of it done by one command, which is killed when nothing of it is wanted any more."""
        try:
            result = await self._commands.all_of(lines, lambda: all(map(_withdrawn, drained)))
        except NotBegunError:
            for one in drained:
                _is_withdrawn(one)
            return
        if result.failure == "broken off":
            for one in drained[begun(lines, result) :]:
                _is_withdrawn(one)
        answer = _of_each(told("scontrol", result))
        for one in drained:
            _tell(one, answer)


def _withdrawn(one: _Asked) -> str:
    return one.operation.withdrawn()


def _is_withdrawn(one: _Asked) -> bool:
    """Whether a drain that has not been begun must not be any more: then that is told."""
    if why := _withdrawn(one):
        _tell(one, Told(status=ToldStatus.NOT_BEGUN, text=why))
    return bool(why)


def _of_each(answer: Told) -> Told | None:
    """What the answer to all says of one: where one of them is refused, each is looked at alone."""
    if answer.status is ToldStatus.DONE:
        return DONE
    return answer if answer.status is ToldStatus.UNKNOWN else None


def line_of(words: list[str]) -> str | None:
    """The words as a line for scontrol; None when they have signs that mean something to it there."""
    line = ["update"]
    for word in words:
        if _REASON.fullmatch(word):
            line.append(f'reason="{word.removeprefix("reason=")}"')
        elif _PLAIN.fullmatch(word) or _EXTRA.fullmatch(word):
            line.append(word)
        else:
            return None
    return " ".join(line)


def _tell(one: _Asked, answer: Told | None) -> None:
    if not one.answer.done():
        one.answer.set_result(answer)


def _fail(one: _Asked, error: Exception) -> None:
    if not one.answer.done():
        one.answer.set_exception(error)
