"""What is run, how the run ended, and what ends it from outside."""

import contextlib
import os
import threading
from collections.abc import Mapping

import msgspec

# A word that no other call has: by it we know again what a call has started.
CALL = "ACCELWATCH_CALL"

# Bytes kept of what a program prints: the last ones.
MOST_KEPT = 64 << 10


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """What is run."""

    argv: tuple[str, ...]
    # All of its environment; CALL must be in it.
    environ: Mapping[str, str]
    # Its standard input.
    document: bytes
    timeout_s: float
    # How long it may take to exit after SIGTERM.
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
