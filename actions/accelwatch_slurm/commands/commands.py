"""Slurm's commands with a deadline, off the loop, and what their failures mean."""

import asyncio
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import PurePosixPath
from shutil import which

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.step import Report, ReportStatus
from accelwatch.system.processes.command import CommandResult, run
from accelwatch_slurm.commands.options import SlurmOptions

_FOLDERS = "/usr/bin:/usr/local/bin:/opt/slurm/bin"
# A line of a node is 1 KB.
_MAX_BYTES = 64 << 20
# Variables that change what the commands do or print, such as those of a job that we run in.
_OTHERS = re.compile(r"(SLURM|SQUEUE|SCONTROL|SRUN|SCANCEL)_\w+")
_REFUSED = re.compile(r"invalid user id|permission|not authorized|access denied", re.IGNORECASE)
_NOT_SENT = re.compile(r"connect failure|connection refused|munge|authentication", re.IGNORECASE)
_OUTCOME_UNKNOWN = re.compile(r"timed out|zero bytes|communication|i/o error", re.IGNORECASE)
_ABSENT = re.compile(
    r"^(?:Node|Reservation) \S+ not found|Invalid job id specified|No reservations", re.MULTILINE
)


_PROMPT = "scontrol: "


class NotStartedError(Exception):
    """A command was not sent, because the permission of its step was withdrawn; its text says why."""


class Permission:
    """Of one step, until it is withdrawn; checked by the thread that is about to send a command."""

    def __init__(self, withdrawn: Callable[[], str]) -> None:
        self._withdrawn = withdrawn
        # Whether a command was sent by it.
        self.is_used = False

    def use(self) -> None:
        """A command is sent now. Raises NotBegunError."""
        if why_not := self._withdrawn():
            raise NotStartedError(why_not)
        self.is_used = True


_permission: ContextVar[Permission | None] = ContextVar("permission", default=None)


@contextmanager
def permitted(withdrawn: Callable[[], str]) -> Iterator[Permission]:
    """What changes something from here on, in this task, is sent by this permission only."""
    permission = Permission(withdrawn)
    token = _permission.set(permission)
    try:
        yield permission
    finally:
        _permission.reset(token)


class Commands:
    """The commands of one cluster."""

    def __init__(self, options: SlurmOptions) -> None:
        self._options = options
        self._pool = ThreadPoolExecutor(4, "slurm")
        environ = {"SLURM_TIME_FORMAT": "%s"}
        if options.slurm_conf:
            environ["SLURM_CONF"] = options.slurm_conf
        self._environ = environ

    async def run(self, name: str, *arguments: str) -> CommandResult:
        """The result of a command of Slurm that only reads."""
        return await self.program([self.path_of(name), *arguments])

    async def change(self, name: str, *arguments: str) -> CommandResult:
        """What became of a command of Slurm that changes something. Raises NotBegunError."""
        return await self.change_by([self.path_of(name), *arguments])

    async def change_by(self, argv: Sequence[str], timeout_s: float | None = None) -> CommandResult:
        """What became of any command that changes something. Raises NotBegunError."""
        return await self.program(argv, timeout_s, permission=_permission.get())

    async def all_of(self, lines: Sequence[str], break_off: Callable[[], bool]) -> CommandResult:
        """What became of commands to scontrol that one process of it does one after the other.

        It goes on after one that fails, and does not say which that was. As soon as `break_off` says so
        the process is killed; `started_lines` says what it had read by then. Raises NotBegunError.
        """
        stdin_data = "\n".join([*lines, "quit\n"])
        return await self.program(
            [self.path_of("scontrol")], stdin_data=stdin_data, break_off=break_off
        )

    async def program(
        self,
        argv: Sequence[str],
        timeout_s: float | None = None,
        stdin_data: str = "",
        permission: Permission | None = None,
        break_off: Callable[[], bool] | None = None,
    ) -> CommandResult:
        """What became of any command, in the environment of Slurm's own."""
        kept = {"SLURM_CONF", *self._environ}
        unset = [f"--unset={name}" for name in os.environ if _OTHERS.fullmatch(name)]
        unset = [option for option in unset if option.partition("=")[2] not in kept]
        command = ["/usr/bin/env", *unset, *argv] if unset else list(argv)

        def send() -> CommandResult:
            if permission is not None:
                permission.use()  # a thread may have become free for it long after the request
            if break_off is not None and break_off():
                raise NotStartedError
            return run(
                command,
                timeout_s=timeout_s or self._options.timeout_s,
                environ=self._environ,
                max_bytes=_MAX_BYTES,
                stdin_data=stdin_data.encode(),
                break_off=break_off,
            )

        return await asyncio.get_running_loop().run_in_executor(self._pool, send)

    def path_of(self, name: str) -> str:
        """Where a command of Slurm is, here; on its nodes it has the same path."""
        if self._options.commands:
            return str(PurePosixPath(self._options.commands) / name)
        return which(name, path=_FOLDERS) or name

    async def read(self, name: str, *arguments: str) -> str:
        """What it prints; empty for what does not exist. Raises ActionUnavailableError."""
        result = await self.run(name, *arguments)
        if not result.failure and _ABSENT.search(_output_of(result)):
            return ""
        if result.ok and result.output.strip():
            return result.output.decode("utf-8", "replace")
        if result.ok:
            raise ActionUnavailableError(f"{name} printed nothing")
        raise ActionUnavailableError(why(name, result))

    def close(self) -> None:
        """Accept no more; what runs ends by its own deadline."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def started_lines(lines: Sequence[str], result: CommandResult) -> int:
    """How many of the lines a killed scontrol may have started: all where that is not known.

    With readline it prints a prompt, and what it reads behind it, before it does anything about that.
    Without it the prompts come alone, and when that is says nothing.
    """
    printed = result.output.decode("utf-8", "replace")
    echo = printed.removeprefix(_PROMPT)
    if echo in ("", printed) or echo.startswith(_PROMPT):
        return len(lines)
    return sum(line.startswith(_PROMPT) for line in printed.splitlines())


def report_of(name: str, result: CommandResult) -> Report:
    """The report of a command that changes something.

    A controller that hangs does what it was sent when it wakes: a time-out is not known, not failed.
    """
    if result.ok:
        return Report(status=ReportStatus.DONE)
    text = why(name, result)
    if result.failure:
        late = result.failure in ("timeout", "too much output", "broken off")
        return Report(status=ReportStatus.UNKNOWN if late else ReportStatus.REFUSED, text=text)
    output = _output_of(result)
    for pattern, status in (
        (_OUTCOME_UNKNOWN, ReportStatus.UNKNOWN),
        (_NOT_SENT, ReportStatus.RETRY),
        (_REFUSED, ReportStatus.REFUSED),
    ):
        if pattern.search(output):
            return Report(status=status, text=text)
    unclear = result.status is None or result.status < 0
    return Report(status=ReportStatus.UNKNOWN if unclear else ReportStatus.REFUSED, text=text)


def _output_of(result: CommandResult) -> str:
    return b"\n".join((result.errors, result.output[:4096])).decode("utf-8", "replace")


def why(name: str, result: CommandResult) -> str:
    """A failure in words, in one line."""
    if result.failure:
        return f"{name}: {result.failure}"
    lines = [line.strip() for line in _output_of(result).splitlines() if line.strip()]
    text = "".join(char for char in (lines[0] if lines else "no message") if char.isprintable())
    return f"{name} ended with {result.status}: {text[:200]}"
