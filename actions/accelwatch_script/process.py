"""One run of a program: bounded in time and output, alone in its group, and ended with all it started.

Blocking, for a thread of its own. Whatever a program has started ends with it: a subreaper sees to
that (`subreaper.py`). Where that was killed too, and on systems without subreapers, what is left of its
process group ends, and what is found by the variable CALL when it is ended from outside.
"""

import contextlib
import fcntl
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from accelwatch.processes.child_process import anonymous_file
from accelwatch_script import subreaper

# A word that no other call has: by it we know again what a call has started.
CALL = "ACCELWATCH_CALL"
# Bytes kept of what a program prints: the last ones.
MOST_KEPT = 64 << 10
_CHUNK = 1 << 20
# Bytes read after the end of a program: what a pipe holds, not what others go on writing.
_MOST_LEFT = 1 << 20
_POLL_S = 0.05
# How often it is looked after a keeper that its program may have stopped.
_CHECK_S = 1.0
# How long a killed program may take to go; one that is stuck in the kernel takes for ever.
_REAP_S = 2.0
_SWEEPS = 3
_UMASK = 0o077


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """What is run."""

    argv: tuple[str, ...]
    # All of its environment; CALL must be in it.
    environ: Mapping[str, str]
    # Its standard input.
    document: bytes
    timeout_s: float
    # How long it may take to go after SIGTERM.
    kill_after_s: float = 10.0
    # Uid and gid to run with.
    user: tuple[int, int] | None = None
    # Bytes kept of its standard output.
    kept: int = MOST_KEPT


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended."""

    output: bytes = b""
    # Of both the last bytes.
    errors: bytes = b""
    # Whether `output` is all that it printed.
    is_complete: bool = True
    # Exit status, negative for a signal; None for one that was ended from outside or never began.
    status: int | None = None
    timed_out: bool = False
    # Whether we ended it before its time.
    stopped: bool = False
    # Why it never began; nothing has happened then.
    failure: str = ""


class Stop:
    """Ends a run from another thread."""

    def __init__(self) -> None:
        self.reads, self._writes = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        # Without it a stop could write into a descriptor that was closed and given to another file.
        self._lock = threading.Lock()
        self._open = True

    def set(self) -> None:
        """End the run, if there is still one."""
        with self._lock:
            if self._open:
                with contextlib.suppress(BlockingIOError):
                    os.write(self._writes, b"x")

    def close(self) -> None:
        """After the run."""
        with self._lock:
            self._open = False
            os.close(self._writes)
            os.close(self.reads)


def run(command: Command, stop: Stop) -> RunResult:
    """Run a program to its end, or end it. Never raises for what the program does."""
    with tempfile.TemporaryDirectory(prefix="accelwatch-", ignore_cleanup_errors=True) as folder:
        document = anonymous_file("hook")
        try:
            os.write(document, command.document)
            os.lseek(document, 0, os.SEEK_SET)
            process = _start(command, folder, document)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            return RunResult(failure=f"{command.argv[0]}: cannot be started: {reason or error}")
        finally:
            os.close(document)
        watch = _Watch(process, command, stop)
        try:
            return watch.to_the_end()
        finally:
            watch.close()


def _start(command: Command, folder: str, document: int) -> "subprocess.Popen[bytes]":
    """Raises OSError for a program that cannot be started."""
    if command.user is not None:
        os.chown(folder, *command.user)
    if sys.platform == "linux" and sys.executable:
        return _start_with_subreaper(command, folder, document)
    return _start_without_subreaper(command, folder, document)


def _start_with_subreaper(
    command: Command, folder: str, document: int
) -> "subprocess.Popen[bytes]":
    environ = anonymous_file("environ")
    reads, writes = os.pipe()
    with os.fdopen(reads, "rb") as error_pipe:
        try:
            os.write(environ, _environment_block(command.environ))
            os.lseek(environ, 0, os.SEEK_SET)
            process = subprocess.Popen(
                [
                    *(sys.executable, "-I", "-S", subreaper.__file__, str(writes), str(environ)),
                    *map(str, (_UMASK, *(command.user or (-1, -1)))),
                    *command.argv,
                ],
                stdin=document,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                start_new_session=True,
                pass_fds=[writes, environ],
                bufsize=0,
            )
        finally:
            os.close(writes)
            os.close(environ)
        failure = error_pipe.read()
    if failure:
        with process:
            raise OSError(int(failure), os.strerror(int(failure)))
    return process


def _environment_block(environ: Mapping[str, str]) -> bytes:
    """In the form of /proc/PID/environ. Raises ValueError for what no environment can hold."""
    for name, value in environ.items():
        if not name or "=" in name or "\0" in name + value:
            raise ValueError(f"the variable {name!r} cannot be set")
    return b"".join(os.fsencode(f"{name}={value}\0") for name, value in environ.items())


def _start_without_subreaper(
    command: Command, folder: str, document: int
) -> "subprocess.Popen[bytes]":
    uid, gid = command.user or (None, None)
    return subprocess.Popen(
        command.argv,
        stdin=document,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=dict(command.environ),
        umask=_UMASK,
        start_new_session=True,
        user=uid,
        group=gid,
        extra_groups=None if gid is None else [],
        bufsize=0,
    )


class _Tail:
    """The last bytes of a stream."""

    def __init__(self, most: int) -> None:
        self.kept = bytearray()
        self.is_complete = True
        self._most = most

    def add(self, data: bytes) -> None:
        self.kept += data[-self._most - 1 :]
        if len(self.kept) > self._most:
            self.is_complete = False
            del self.kept[: -self._most]


class _Watch:
    """A program that runs."""

    def __init__(self, process: "subprocess.Popen[bytes]", command: Command, stop: Stop) -> None:
        self._process = process
        self._command = command
        self._stopped = False
        self._selector = selectors.DefaultSelector()
        self._tails: dict[int, _Tail] = {}
        self._output = self._follow(process.stdout, command.kept)
        self._errors = self._follow(process.stderr, MOST_KEPT)
        self._stop = stop.reads
        self._selector.register(stop.reads, selectors.EVENT_READ)
        self._pidfd = -1
        with contextlib.suppress(OSError, AttributeError):  # Only Linux has it.
            self._pidfd = os.pidfd_open(process.pid)
            self._selector.register(self._pidfd, selectors.EVENT_READ)

    def _follow(self, stream: object, most: int) -> _Tail:
        fd: int = stream.fileno()  # type: ignore[attr-defined]
        os.set_blocking(fd, False)
        with contextlib.suppress(OSError, AttributeError):
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _CHUNK)
        self._selector.register(fd, selectors.EVENT_READ)
        return self._tails.setdefault(fd, _Tail(most))

    def to_the_end(self) -> RunResult:
        has_exited = from_inside = self._until(time.monotonic() + self._command.timeout_s)
        if not from_inside:
            self._signal(signal.SIGTERM)
            self._deafen()
            has_exited = self._until(time.monotonic() + self._command.kill_after_s)
            if not has_exited:
                self._signal(subreaper.KILL_ALL)
                has_exited = self._until(time.monotonic() + _REAP_S)
        # Not reaped yet, so that the number of its group cannot be another's by now.
        self._signal(signal.SIGKILL)
        if not from_inside:
            _sweep(self._command.environ[CALL])
            has_exited = self._until(time.monotonic() + _REAP_S)
        self._drain()
        status = self._process.wait() if has_exited else None
        if from_inside and status == -signal.SIGKILL:  # maybe the keeper, and not the program
            _sweep(self._command.environ[CALL])
        return RunResult(
            output=bytes(self._output.kept),
            errors=bytes(self._errors.kept),
            is_complete=self._output.is_complete,
            status=status if from_inside else None,
            timed_out=not from_inside and not self._stopped,
            stopped=self._stopped,
        )

    def _until(self, deadline: float) -> bool:
        """Whether the program has ended by then; a stop ends the wait too."""
        while not self._has_exited():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            wait = min(left, _CHECK_S if self._pidfd >= 0 else _POLL_S)
            for key, _ in self._selector.select(wait):
                if key.fd in self._tails:
                    self._read(key.fd)
                elif key.fd == self._stop:
                    self._selector.unregister(key.fd)
                    self._stopped = True
                    return False
            self._signal(
                signal.SIGCONT
            )  # a program may stop its parent, which nobody else would continue
        return True

    def _deafen(self) -> None:
        """A stop that comes now changes nothing any more."""
        if self._stop in self._selector.get_map():
            self._selector.unregister(self._stop)

    def _has_exited(self) -> bool:
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, options) is not None

    def _read(self, fd: int) -> int:
        try:
            data = os.read(fd, _CHUNK)
        except BlockingIOError:
            return 0
        if data:
            self._tails[fd].add(data)
        else:
            self._selector.unregister(fd)
        return len(data)

    def _drain(self) -> None:
        registered = self._selector.get_map()
        for fd in self._tails:
            left = _MOST_LEFT
            while left > 0 and fd in registered and (size := self._read(fd)):
                left -= size

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def close(self) -> None:
        self._selector.close()
        if self._pidfd >= 0:
            os.close(self._pidfd)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


def _sweep(call: str) -> None:
    """Kill whatever has the call's word in its environment, until there is nothing any more."""
    variable = f"{CALL}={call}".encode()
    for _ in range(_SWEEPS):
        if not sum(_killed(pid, variable) for pid in _pids()):
            return


def _pids() -> Iterator[int]:
    with contextlib.suppress(OSError), os.scandir("/proc") as entries:
        yield from (int(entry.name) for entry in entries if entry.name.isdecimal())


def _killed(pid: int, variable: bytes) -> bool:
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        # What is read after the descriptor was got is of that process, not of a later one.
        if variable not in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            return False
        signal.pidfd_send_signal(fd, signal.SIGKILL)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True
