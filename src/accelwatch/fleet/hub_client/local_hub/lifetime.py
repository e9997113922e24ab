"""A child's link to its parent: a pipe that carries the order and ends with the parent, and another for
the child's report."""

import asyncio
import contextlib
import os
import queue
import shutil
import signal
import sys
import threading
from pathlib import Path

from accelwatch.node.sampler.protocol.commands import kill_commands
from accelwatch.system.processes.child_process import close_others

# How long a graceful exit may take before the process exits at once.
_GRACE_S = 0.8
_CHUNK = 65536


class Lifetime:
    """The child's ends of both pipes."""

    def __init__(self, alive: int, outcome_fd: int) -> None:
        self._alive = alive
        self._outcome_fd = outcome_fd
        self._stop: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None
        self._orders: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._over = False
        # The parent may close its pipe before the loop of this process exists. The lock makes sure
        # that either the watching thread sees the stop event or the loop sees that it is over.
        self._lock = threading.Lock()

    def detach(self, crash: int) -> None:
        """Leave the terminal and every descriptor but ours; errors go to `crash`."""
        with contextlib.suppress(OSError):
            os.setsid()
        with contextlib.suppress(ValueError):
            signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        os.dup2(crash, 2)
        close_others((self._alive, self._outcome_fd))
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115

    def guard(self, folder: Path) -> None:
        """From now on end with the parent, in order if that is soon, else at once.

        `folder` is removed.
        """

        def watch() -> None:
            with contextlib.suppress(OSError):
                self._read_to_end()
            with self._lock:
                self._over = True
                if self._stop is not None:
                    loop, stop = self._stop
                    with contextlib.suppress(RuntimeError):  # it is closed: we are ending already
                        loop.call_soon_threadsafe(stop.set)
            if self._stop is not None:
                threading.Event().wait(_GRACE_S)
            shutil.rmtree(folder, ignore_errors=True)
            kill_commands(os.getpid())
            os._exit(0)

        threading.Thread(target=watch, name="parent", daemon=True).start()

    def _read_to_end(self) -> None:
        """The parent writes one line or none, and closes the pipe by ending."""
        buffer = b""
        while chunk := os.read(self._alive, _CHUNK):
            buffer += chunk
            line, newline, buffer = buffer.rpartition(b"\n")
            if newline:
                self._orders.put(line)

    def order(self) -> bytes:
        """The parent's order; waits for it, after `guard`."""
        return self._orders.get()

    def stop_event(self) -> asyncio.Event:
        """Set when the parent has ended; for the running loop."""
        stop = asyncio.Event()
        with self._lock:
            self._stop = asyncio.get_running_loop(), stop
            if self._over:
                stop.set()
        return stop

    def report(self, message: bytes) -> None:
        """Report to the parent; it may have gone."""
        with contextlib.suppress(OSError):
            os.write(self._outcome_fd, message)
