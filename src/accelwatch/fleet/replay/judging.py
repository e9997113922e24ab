"""Incidents while they are found: a process of its own plays the archive, its lines become marks.

It never keeps the screen waiting, and what befalls it is a note on the time line.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence

import msgspec

from accelwatch.fleet.picture.timeline import Mark
from accelwatch.fleet.replay.incidents import MOST, mark_of
from accelwatch.untrusted_text import printable

_MOST_LINE = 1 << 20
_MOST_SAID = 4096
_GATHER_S = 0.5
"""Between two times that what was found is told."""
_END_S = 2.0
"""How long the process may take to end before it is killed."""


class _Message(msgspec.Struct, frozen=True):
    """What the process says: how far it has come, or an incident."""

    type: str
    until: float = 0.0
    number: int = 0
    line: msgspec.Raw = msgspec.Raw(b"{}")


_decode = msgspec.json.Decoder(_Message).decode
Tell = Callable[[Sequence[Mark], str], None]
"""Takes the marks that are known by now, and a note; an empty one at the end."""


class Judging:
    """Follows one such process."""

    def __init__(self, command: Sequence[str], start: float, end: float, tell: Tell) -> None:
        """`start` and `end` are the span that is judged, Unix seconds."""
        self._command = command
        self._start, self._end = start, end
        self._tell = tell
        self._marks: dict[int, Mark] = {}
        self._share = 0.0

    async def run(self) -> None:
        """Until the process has ended, or this is cancelled; then it is ended."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=_MOST_LINE,
            )
        except OSError as error:
            self._say(f"no back-test: {error.strerror}")
            return
        telling = asyncio.create_task(self._keep_telling())
        try:
            fault = await self._follow(process)
        finally:
            telling.cancel()
            _terminate(process)  # at once: whoever cancels may do so again while we wait
            await asyncio.gather(telling, return_exceptions=True)
            await _ended(process)
        self._say(f"no back-test: {fault}" if fault else "")

    async def _follow(self, process: asyncio.subprocess.Process) -> str:
        """Take all it finds; what is wrong with it, empty when it has come to the end."""
        assert process.stdout is not None
        assert process.stderr is not None
        complaint = asyncio.create_task(process.stderr.read(_MOST_SAID))
        try:
            while line := await process.stdout.readline():
                self._take(line)
            said = (await complaint).decode("utf-8", "replace").strip()
            if await process.wait() == 0:
                return ""
        except ValueError as error:  # a line that is too long, or makes no sense
            return str(error)
        finally:
            complaint.cancel()
            await asyncio.gather(complaint, return_exceptions=True)
        return printable(said.rpartition("\n")[2]) or "it has ended"

    def _take(self, line: bytes) -> None:
        """Raises ValueError for what is no message."""
        try:
            message = _decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ValueError(str(error)) from error
        if message.type == "reached":
            span = max(self._end - self._start, 1.0)
            self._share = min(max((message.until - self._start) / span, 0.0), 1.0)
        elif message.number in self._marks or len(self._marks) < MOST:
            self._marks[message.number] = mark_of(bytes(message.line))

    async def _keep_telling(self) -> None:
        while True:
            self._say(f"looking for incidents, {self._share:.0%}")
            await asyncio.sleep(_GATHER_S)

    def _say(self, note: str) -> None:
        self._tell(tuple(self._marks.values()), note)


def _terminate(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Nothing is left of the process."""
    try:
        async with asyncio.timeout(_END_S):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
