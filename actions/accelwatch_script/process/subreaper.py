"""Runs a program and ends all that it has started: subreaper.py FD ENVIRON UMASK UID GID PROGRAM...

The keeper is the subreaper of the program (prctl(2), Linux only): whatever forks twice, starts a session
of its own or clears its environment stays a descendant, and is killed when the program has ended. It
hands SIGTERM on to the program's group, SIGUSR1 ends everything now. It ends as the program did.

A program may kill or stop its parent. So the keeper is two processes, each a subreaper. When the inner
one, the parent of the program, is killed, what is left becomes the outer one's, which kills it; when the
outer one is killed, the inner one gets SIGUSR1. The outer one continues an inner one that is stopped.

Why a program cannot be started, an errno, goes to the descriptor FD; it is closed once it has started.
The descriptor ENVIRON has the program's environment, in the form of /proc/PID/environ: the keeper itself
runs in ours, which its interpreter may need, and secrets are no arguments.
Nothing of ours is imported: it is run without site packages.
"""

import contextlib
import ctypes
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

# linux/prctl.h
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
FORWARDED = signal.SIGTERM
KILL_ALL = signal.SIGUSR1
_HANDLED = (signal.SIGCHLD, FORWARDED, KILL_ALL)
_NOT_STARTED = 127
# How long what is killed may take to exit; one that is stuck in the kernel goes when that lets it.
_MOST_S = 2.0
_PAUSE_S = 0.001


def main(argv: list[str]) -> int:
    """Run the program; its wait status."""
    error_fd, environ_fd, umask, uid, gid = (int(number) for number in argv[:5])
    os.set_inheritable(error_fd, False)
    environ = _environ(environ_fd)
    signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    program = os.fork()
    if program == 0:
        os.setpgid(0, 0)  # what kills the group of the outer one leaves the inner one to its work
        _prctl(_PR_SET_PDEATHSIG, KILL_ALL)
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        program = os.fork()
        if program == 0:
            _become(argv[5:], environ, error_fd, umask, (uid, gid))
        os.close(error_fd)
        status = _wait_for_exit(program)
    else:
        os.close(error_fd)
        with contextlib.suppress(OSError):
            os.setpgid(program, program)
        status = _wait_for_exit(program, is_continued=True)
    _kill_descendants()
    return status


def _become(
    argv: list[str], environ: dict[bytes, bytes], error_fd: int, umask: int, user: tuple[int, int]
) -> NoReturn:
    """Be the program, in a session of its own; why that cannot be goes to `error_fd`."""
    try:
        os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.umask(umask)
        if user[0] >= 0:
            os.setgroups([])
            os.setgid(user[1])
            os.setuid(user[0])
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # which another user than before would clear
        os.execve(argv[0], argv, environ)  # noqa: S606 - the hook, by its path
    except OSError as error:
        os.write(error_fd, str(error.errno).encode())
    finally:
        os._exit(_NOT_STARTED)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _environ(descriptor: int) -> dict[bytes, bytes]:
    with os.fdopen(descriptor, "rb") as file:
        pairs = (pair.partition(b"=") for pair in file.read().split(b"\0"))
        return {name: value for name, is_pair, value in pairs if is_pair}


def _wait_for_exit(program: int, *, is_continued: bool = False) -> int:
    """Its wait status; orphans of its own that end meanwhile are reaped.

    `is_continued` has it go on when it is stopped.
    """
    while True:
        number = signal.sigwait(_HANDLED)
        if number == FORWARDED:
            _kill(os.killpg, program, signal.SIGTERM)
        elif number == KILL_ALL:
            _kill(os.killpg, program, signal.SIGKILL)
        elif is_continued:
            _kill(os.kill, program, signal.SIGCONT)
        for pid, status in _reaped():
            if pid == program:
                return status


def _reaped() -> Iterator[tuple[int, int]]:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, status


def _kill_descendants() -> None:
    """Kill children until there are none: those of a child that is killed become ours."""
    until = time.monotonic() + _MOST_S
    while time.monotonic() < until:
        for child in _children():
            _kill(os.kill, child, signal.SIGKILL)
        for _ in _reaped():
            pass
        if not _children():
            return
        time.sleep(_PAUSE_S)


def _children() -> list[int]:
    """Of this process, which has one thread."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children")
    try:
        return [int(pid) for pid in listed.read_text().split()]
    except OSError:  # a kernel without CONFIG_PROC_CHILDREN
        return [pid for pid in _pids() if _parent(pid) == os.getpid()]


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _kill(how: Callable[[int, int], None], pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(OSError):
        how(pid, number)


def _exit_as(status: int) -> NoReturn:
    """End as the program did, by the same signal where one ended it."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    _exit_as(main(sys.argv[1:]))
