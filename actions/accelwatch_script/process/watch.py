"""Reads what a program prints and waits for its end, up to its deadline or a stop."""

import contextlib
import fcntl
import os
import selectors
import signal
import subprocess
import time

from accelwatch_script.process import subreaper
from accelwatch_script.process.command import CALL, MOST_KEPT, Command, RunResult, Stop
from accelwatch_script.process.sweep import sweep

_CHUNK = 1 << 20

# Bytes read after the end of a program: what a pipe holds, not what others go on writing.
_MOST_LEFT = 1 << 20

_POLL_S = 0.05

# How often a keeper is checked that its program may have stopped.
_CHECK_S = 1.0

# How long a killed program may take to exit; one that is stuck in the kernel never does.
_REAP_S = 2.0


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


class Watch:
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
        """Wait for the end of the program, or end it: SIGTERM, then SIGKILL for all that it started."""
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
            sweep(self._command.environ[CALL])
            has_exited = self._until(time.monotonic() + _REAP_S)
        self._drain()
        status = self._process.wait() if has_exited else None
        if from_inside and status == -signal.SIGKILL:  # maybe the keeper, and not the program
            sweep(self._command.environ[CALL])
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
        """Release the descriptors."""
        self._selector.close()
        if self._pidfd >= 0:
            os.close(self._pidfd)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
