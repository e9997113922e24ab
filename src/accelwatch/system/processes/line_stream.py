"""A command that prints lines for as long as it runs: restarted when it ends or is silent.

It ends with this process, also when that is killed (`parent_death`).
"""

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Sequence

from accelwatch.base.backoff import Backoff
from accelwatch.base.clock import Clock
from accelwatch.system.processes import parent_death

SILENCE_S = 60.0
_LONGEST = 8 << 20
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 5.0, 300.0
_REAP_S = 1.0


class LineStream:
    """Keeps the newest line, or the `keep` newest. A daemon thread reads; any thread may call."""

    def __init__(
        self, argv: Sequence[str], clock: Clock, silence_s: float = SILENCE_S, keep: int = 1
    ) -> None:
        """The command starts at once; after `silence_s` without a line it is restarted."""
        self._argv = list(argv)
        self._clock = clock
        self._silence_s = silence_s
        # Guards the lines, their times and the process. Never held while the process is stopped or
        # read, which can block.
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._line: bytes | None = None
        self._awaits_first = True
        self._recent: deque[tuple[bytes, float]] = deque(maxlen=keep)
        self._received_at = clock.monotonic()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def newest(self) -> tuple[bytes, float] | None:
        """The newest line and its age in seconds; None before the first, and after a long silence."""
        with self._lock:
            now = self._clock.monotonic()
            age_s, process = now - self._received_at, self._process
            if age_s <= self._silence_s:
                return None if self._line is None else (self._line, age_s)
            self._line, self._received_at, self._awaits_first = None, now, False
        _stop(process)
        return None

    @property
    def awaits_first(self) -> bool:
        """Whether no line has come yet, the first is not overdue, and the command has not ended."""
        with self._lock:
            overdue = self._clock.monotonic() - self._received_at > self._silence_s
            return self._awaits_first and not overdue

    def recent(self, within_s: float) -> list[bytes] | None:
        """Lines of the last seconds, oldest first; None as `newest`."""
        if self.newest() is None:
            return None
        with self._lock:
            now = self._clock.monotonic()
            return [line for line, received_at in self._recent if now - received_at <= within_s]

    def close(self) -> None:
        """End the command and begin it no more."""
        self._closed.set()
        with self._lock:
            process = self._process
        _stop(process)
        self._thread.join(_REAP_S)

    def _run(self) -> None:
        backoff = Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)
        while not self._closed.is_set():
            if self._follow():
                backoff.succeeded()
            else:
                with self._lock:
                    self._awaits_first = False
            self._closed.wait(backoff.failed(self._clock.monotonic()))

    def _follow(self) -> bool:
        """Read what one run of the command prints; whether it was a line at least."""
        try:
            process = _start(self._argv)
        except (OSError, ValueError):
            return False
        with self._lock:
            self._process = process
        if self._closed.is_set():
            _stop(process)
        try:
            return self._read(process)
        finally:
            _stop(process)

    def _read(self, process: "subprocess.Popen[bytes]") -> bool:
        has_line = False
        assert process.stdout is not None
        with process.stdout as output:
            # What is longer than any record, or was cut off by the end, has no end of line.
            while (line := output.readline(_LONGEST)).endswith(b"\n"):
                with self._lock:
                    self._line, self._received_at = line, self._clock.monotonic()
                    self._awaits_first = False
                    self._recent.append((line, self._received_at))
                has_line = True
        return has_line


def first_line(argv: Sequence[str], timeout_s: float) -> bytes | None:
    """What the command prints first, with its end of line; None when none came in time.

    For a single reading: no thread, and the command is ended.
    """
    try:
        process = _start(argv)
    except (OSError, ValueError):
        return None
    assert process.stdout is not None
    try:
        with process.stdout as output:
            return _line_of(output.fileno(), time.monotonic() + timeout_s)
    finally:
        _stop(process)


def _line_of(output: int, until: float) -> bytes | None:
    received = b""
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        while b"\n" not in received and len(received) < _LONGEST:
            more = (
                os.read(output, 1 << 16)
                if selector.select(max(0.0, until - time.monotonic()))
                else b""
            )
            if not more:
                return None
            received += more
    line, end, _ = received.partition(b"\n")
    return line + end if end else None


def _start(argv: Sequence[str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        parent_death.bound(argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "LC_ALL": "C"},
        start_new_session=True,
    )


def _stop(process: "subprocess.Popen[bytes] | None") -> None:
    """Kill its group; what is stuck in the driver is not waited for."""
    if process is None or process.poll() is not None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError, subprocess.TimeoutExpired):
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(_REAP_S)
