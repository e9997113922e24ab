"""The collector process from inside: `python -m accelwatch.node.sampler.child`, or the child of a fork.

It reports to a pipe, ends when its owner goes, leaves a crash report in a file, and never waits for a
thread that hangs in a driver.
"""

import contextlib
import faulthandler
import os
import resource
import signal
import sys
import threading
from pathlib import Path
from typing import NoReturn

from accelwatch.base.clock import SystemClock
from accelwatch.base.errors import WireError
from accelwatch.node.sampler.collector import Collector
from accelwatch.node.sampler.protocol.call_registry import CallsOut, Inside, map_registry
from accelwatch.node.sampler.protocol.commands import kill_commands
from accelwatch.node.sampler.protocol.frames import (
    CLOSED,
    MAX_FRAME_BYTES,
    decode_order,
    encode,
    with_checksum,
    write_all,
)
from accelwatch.node.sampler.protocol.load import Absent, resolve
from accelwatch.node.sampler.protocol.settings import LetIn, StartOrder
from accelwatch.node.sampler.turns.gate import Gate
from accelwatch.node.sampler.turns.messages import Admit, Inbox, Stop
from accelwatch.node.store.reports import Written
from accelwatch.schema.stream.frames import Splitter
from accelwatch.system.processes.parent_death import die_with_parent

# How long a graceful exit may take before the process exits at once.
_CLOSE_LIMIT_S = 0.5
_ONE_SHOT_GRACE_S = 1.0
_CHUNK = 65536


def collect(order: StartOrder, out: int, control: int | None, crash: int) -> None:
    """Be a collector; returns on request to stop, when all is reported, or when the reader is gone.

    `out`, `control` and `crash` are descriptors: of the pipe for reports, of the pipe that orders come
    by, and of the file for the crash report.
    """
    _prepare(crash)
    settings = order.settings
    if settings.one_shot:
        _arm_kill_timer(settings.timeout_s + _ONE_SHOT_GRACE_S)
    else:
        from accelwatch.node.sampler.garbage import collect_garbage

        _prefer_oom_kill()
        collect_garbage()

    registry = map_registry(crash)
    reports = _Reports(out)
    gate = Gate(inside=Inside(registry, reports.check), careful=order.careful)
    backends = resolve(settings)
    clock = SystemClock()
    absent = Absent(settings, clock)
    collector = Collector(
        settings,
        backends,
        reports,
        clock,
        note=CallsOut(registry).note,
        gate=gate,
        started_at=order.started_at,
        absent=None if settings.one_shot else absent,
        flush=reports.flush,
    )
    if control is not None:
        _obey(control, collector.inbox)
    with contextlib.suppress(BrokenPipeError):
        collector.start(order.quarantined, absent.reasons())
        collector.run()
    if not settings.one_shot:
        with contextlib.suppress(BrokenPipeError):
            collector.close()
    kill_commands(os.getpid())


class _Reports:
    """Where reports go. Once nobody reads them the loop ends, and the backends are closed unheard.

    Each write wakes the owner: reports are held back until the loop flushes them.
    """

    def __init__(self, out: int) -> None:
        self._out = out
        self._pipe = _file_behind(out)
        self._buffer = bytearray()
        self._unread = False

    def __call__(self, report: Written) -> None:
        """Keep a report for the next `flush`."""
        with contextlib.suppress(WireError):
            self._buffer += with_checksum(encode(report))

    def check(self) -> None:
        """End this process where the descriptor is another file now: reports would go into that one.

        Called while whoever closed it still counts as inside its driver, which is how it is found.
        """
        if _file_behind(self._out) != self._pipe:
            os._exit(CLOSED)

    def flush(self) -> None:
        """Write what was held back. Raises BrokenPipeError the first time that nobody reads."""
        buffered, self._buffer = self._buffer, bytearray()
        if self._unread or not buffered:
            return
        self.check()
        try:
            write_all(self._out, buffered)
        except BrokenPipeError:
            self._unread = True
            raise


def _file_behind(descriptor: int) -> tuple[int, int] | None:
    """The device and inode of an open file; None for a closed descriptor."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _prepare(crash: int) -> None:
    """Own signals, no core files of a crashing vendor library, and a report instead."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable(file=crash)  # of all threads


def _arm_kill_timer(seconds: float) -> None:
    """Have the kernel end this process, even if a call holds the interpreter for ever."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _prefer_oom_kill() -> None:
    """Have the kernel end this process, rather than the server beside it, when memory runs out.

    Raising a process's own oom_score_adj needs no privilege; proc(5).
    """
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_bytes(b"1000")


def _obey(control: int, inbox: Inbox) -> None:
    """Follow orders on a thread; the end of the pipe is the order to stop."""

    def follow() -> None:
        splitter = Splitter(MAX_FRAME_BYTES)
        while chunk := os.read(control, _CHUNK):
            for body in splitter.feed(chunk):
                order = decode_order(body)
                if isinstance(order, LetIn):
                    inbox.put(Admit(component=order.component))
        inbox.put(Stop())
        threading.Event().wait(_CLOSE_LIMIT_S)
        kill_commands(os.getpid())
        os._exit(0)

    threading.Thread(target=follow, name="orders", daemon=True).start()


def first_order(control: int) -> StartOrder | None:
    """The order to begin; None when the owner went away without one."""
    splitter = Splitter(MAX_FRAME_BYTES)
    while chunk := os.read(control, 1):
        for body in splitter.feed(chunk):
            order = decode_order(body)
            if isinstance(order, StartOrder):
                return order
    return None


def main() -> None:
    """Orders come by standard input, reports go to standard output.

    Argument 1 is the crash file, argument 2 where our own messages go. Standard error is a bounded file
    for what vendor libraries print, to standard output too.
    """
    crash = int(sys.argv[1])
    out = os.dup(1)
    os.dup2(2, 1)
    if len(sys.argv) > 2:
        speak_apart(int(sys.argv[2]))
    die_with_parent()
    try:
        order = first_order(0)
        if order is not None:
            collect(order, out, 0, crash)
    except BaseException as error:  # noqa: BLE001 - the owner reports it
        own_failure(crash, error)
    os._exit(0)


def speak_apart(errors: int) -> None:
    """Have our own messages go to a descriptor that vendor libraries do not know."""
    sys.stderr = open(  # noqa: SIM115 - for as long as the process lives
        errors, "w", buffering=1, encoding="utf-8", errors="backslashreplace"
    )


def own_failure(crash: int, error: BaseException) -> NoReturn:
    """End after a failure of our own; the crash file says which."""
    try:
        os.write(crash, f"{type(error).__name__}: {error}".encode("utf-8", "replace"))
    finally:
        os._exit(1)


if __name__ == "__main__":
    main()
