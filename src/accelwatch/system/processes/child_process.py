"""A process of our own, from its parent's side: whether it runs, how it ended, what it left behind."""

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterable

_MAX_CRASH_REPORT = 65536
_POLL_S = 0.001
_MAX_DESCRIPTOR = 65536
# Killed children that still hang in the kernel, by their number.
_unreaped: set[int] = set()


class ChildProcess:
    """A child by its number, and the file that it writes to when it crashes. Nobody else reaps it."""

    def __init__(self, pid: int, crash: int) -> None:
        self.pid = pid
        # Descriptor of the crash file.
        self.crash = crash
        # Whether we killed it: then that is how it ends, however late the kernel lets go of it.
        self.killed = False
        self._status: int | None = None

    def poll(self) -> int | None:
        """Wait status once the process has ended (see os.waitstatus_to_exitcode), else None."""
        if self._status is None:
            self._status = reaped(self.pid)
        return self._status

    def poll_within(self, limit_s: float) -> int | None:
        """As `poll`, after waiting that long for a process that is on its way out."""
        until = time.monotonic() + limit_s
        while self.poll() is None and time.monotonic() < until:
            select.select([], [], [], _POLL_S)
        return self._status

    def resume(self) -> None:
        """Have the process go on if something in it has stopped it (SIGSTOP)."""
        with contextlib.suppress(ChildProcessError, ProcessLookupError):
            if os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG) is not None:
                os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """End the process now, whatever it does; its status comes when the kernel has let it go."""
        if self.poll() is None:
            self.killed = True
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def how(self, limit_s: float) -> str:
        """How it ended, as a label; `unknown` when it still runs after that long and was not killed."""
        status = self.poll_within(limit_s)
        if status is not None:
            return exit_text(status)
        return signal.SIGKILL.name if self.killed else "unknown"

    def crash_report(self) -> bytes:
        """What the process wrote when it crashed, up to a NUL, at most 64 KiB."""
        return os.pread(self.crash, _MAX_CRASH_REPORT, 0).partition(b"\0")[0]


def reaped(pid: int) -> int | None:
    """Wait status of a child that has ended, None for one that runs; 0 when another wait reaped it."""
    try:
        done, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return 0
    return status if done else None


def reap_later(pid: int) -> None:
    """Have `reap_leftovers` collect a killed child that the kernel has not let go yet."""
    _unreaped.add(pid)


def reap_leftovers() -> None:
    """Collect killed children that have meanwhile ended."""
    for pid in tuple(_unreaped):
        if reaped(pid) is not None:
            _unreaped.discard(pid)


def exit_text(status: int) -> str:
    """How a process ended, as a label: `SIGSEGV`, `exit_1`."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        try:
            return signal.Signals(number).name
        except ValueError:
            return f"signal_{number}"
    return f"exit_{os.waitstatus_to_exitcode(status)}"


def close_others(kept: Iterable[int]) -> None:
    """Close every descriptor but the standard ones and these: a fork has all of its parent's."""
    last = 2
    for descriptor in sorted(kept):
        os.closerange(last + 1, descriptor)
        last = descriptor
    os.closerange(last + 1, _MAX_DESCRIPTOR)


def anonymous_file(name: str) -> int:
    """Descriptor of a file without a path; `name` is for people who look into /proc."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create(name)
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
