"""Starting and ending collector processes, from the owner's side. Nothing here waits for one to end."""

import contextlib
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from accelwatch.node.sampler import early
from accelwatch.node.sampler.protocol.blame import component_of, suspects_of
from accelwatch.node.sampler.protocol.call_registry import calls_out, threads_inside
from accelwatch.node.sampler.protocol.commands import kill_commands
from accelwatch.node.sampler.protocol.frames import CLOSED, encode, write_all
from accelwatch.node.sampler.protocol.settings import LetIn, StartOrder
from accelwatch.node.store.reports import Called, CollectorExited, Component
from accelwatch.system.processes.child_process import (
    ChildProcess,
    anonymous_file,
    reap_later,
    reap_leftovers,
)

if TYPE_CHECKING:
    from accelwatch.node.sampler.protocol.printed import Printed

# How a crash report of Python's faulthandler begins; any other text is the collector's own failure.
_FATAL = b"Fatal Python error"
# Ends that come from outside: an operator, a supervisor, the kernel when memory runs out.
_KILLS = frozenset({"SIGKILL", "SIGTERM"})
# How long a process whose reports have ended may take to exit; a busy machine delays that.
_EXIT_WAIT_S = 1.0
# The same for one that was killed: how it ends is known.
_DYING_S = 0.1


class Child:
    """A running collector process: its reports, its orders, its crash report, what was printed."""

    def __init__(
        self,
        pid: int,
        reports: int,
        orders: int | None,
        crash: int,
        printed: "Printed | None" = None,
    ) -> None:
        self.process = ChildProcess(pid, crash)
        # What vendor libraries printed; None where it was not kept.
        self.printed = printed
        # Descriptor to read frames from; non-blocking.
        self.reports = reports
        self._orders = orders
        os.set_blocking(reports, False)

    def readmit(self, component: Component) -> None:
        """Order that something held out be called again; a dead child does not mind."""
        if self._orders is not None:
            with contextlib.suppress(OSError):
                write_all(self._orders, encode(LetIn(component=component)))

    def request_stop(self) -> None:
        """Close the pipe of orders, which ends the child within half a second unless it hangs."""
        if self._orders is not None:
            os.close(self._orders)
            self._orders = None

    def kill(self) -> None:
        """End the process now, whatever it does, and the commands it runs."""
        if self.process.poll() is None:
            kill_commands(self.process.pid)
            self.process.kill()

    def how(self) -> str:
        """How a process ended whose reports have ended, in a word: it is on its way out."""
        return self.process.how(_DYING_S if self.process.killed else _EXIT_WAIT_S)

    def suspects(self, crash_report: bytes, *, killed: bool) -> tuple[Called, ...]:
        """The calls that may have ended the process, by what it has left behind."""
        crash = self.process.crash
        return suspects_of(calls_out(crash), crash_report, threads_inside(crash), killed=killed)

    def release(self, *, patient: bool = False) -> None:
        """Kill what still runs, close all descriptors; a process that cannot die is reaped later.

        `patient`: give it a moment to die, so that no dead process is left if it can be helped.
        """
        self.kill()
        self.request_stop()
        os.close(self.reports)
        os.close(self.process.crash)
        if self.printed is not None:
            self.printed.close()
        if self.process.poll_within(_DYING_S if patient else 0.0) is None:
            reap_later(self.process.pid)


def post_mortem(child: Child, wall: float, *, hint: str = "") -> CollectorExited:
    """Why a child's reports have ended, and what was being called.

    Nobody stopped it, so a library that calls `exit` has crashed it.
    """
    code = child.how()
    report = child.process.crash_report()
    own_fault = code == "exit_1" and report != b"" and not report.startswith(_FATAL)
    suspects: tuple[Called, ...] = ()
    if not own_fault:
        suspects = child.suspects(report, killed=code in _KILLS)
    doing = ", ".join(
        f"{called.action} of {called.backend} {called.slot}".strip() for called in suspects
    )
    message = f"the collector process ended with {code}"
    if doing:
        message += f" during {doing[:500]}"
    elif own_fault:
        message += f": {report.decode('utf-8', 'replace')[-500:]}"
    if child.printed is not None and (text := child.printed.last_output()):
        message += f"; last printed: {text}"
    if code == f"exit_{CLOSED}":
        message += "; a library closed the pipe for reports"
    if hint:
        message += f" ({hint})"
    components = tuple(dict.fromkeys(component_of(called) for called in suspects))
    return CollectorExited(code=code, message=message, wall=wall, components=components)


def fork(order: StartOrder) -> Child:
    """A collector as a fork of this process: the cheapest start, for a process with one thread.

    Its standard output and error are closed: a vendor library cannot print into our data, nor without
    end.
    """
    reap_leftovers()
    if (forked := early.hand_over()) is not None and (child := _ordered(forked, order)) is not None:
        return child
    read_end, write_end = os.pipe()
    crash = anonymous_file("accelwatch-crash")
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        early.be_child(write_end, crash, lambda: order)
    os.close(write_end)
    return Child(pid, read_end, None, crash)


def _ordered(forked: early.EarlyChild, order: StartOrder) -> Child | None:
    """The early child, now with its order; None when it cannot be used for that."""
    pid, reports, orders, crash, printed = forked
    child = Child(pid, reports, orders, crash)
    if printed is not None:
        from accelwatch.node.sampler.protocol.printed import Printed

        child.printed = Printed(printed)
    received = early.received_order()
    try:
        if received is None:
            write_all(orders, encode(order))
    except OSError:  # it has died
        child.release()
        return None
    if received is not None and received != order:
        child.release()
        return None
    if printed is None:
        child.request_stop()  # a single reading needs no further orders
    return child


def spawn(order: StartOrder, environ: Mapping[str, str] | None = None) -> Child:
    """A collector as a new interpreter, for a process with threads, or that lives long.

    Uses the early lasting child instead, where there is one.
    """
    reap_leftovers()
    if environ is None and (forked := early.hand_over(lasting=True)) is not None:
        child = _ordered(forked, order)
        if child is not None:
            return child
    import subprocess

    from accelwatch.node.sampler.protocol.printed import Printed, bounded_file

    crash, printed = anonymous_file("accelwatch-crash"), bounded_file()
    errors = _standard_error()
    process = subprocess.Popen(
        [sys.executable, "-m", "accelwatch.node.sampler.child", str(crash), str(errors)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=printed,
        pass_fds=(crash, errors),
        env=None if environ is None else dict(environ),
    )
    os.close(errors)
    assert process.stdin is not None
    assert process.stdout is not None
    orders, reports = os.dup(process.stdin.fileno()), os.dup(process.stdout.fileno())
    process.stdin.close()
    process.stdout.close()
    process.returncode = 0  # we reap it ourselves, by its number
    with contextlib.suppress(OSError):
        write_all(orders, encode(order))
    return Child(process.pid, reports, orders, crash, Printed(printed))


def _standard_error() -> int:
    """A copy of our standard error, for the child's own words; nowhere when it is closed."""
    try:
        return os.dup(2)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)
