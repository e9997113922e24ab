"""A supervisor over children that do nothing: what they tell, and how they end, is up to the test."""

import contextlib
import os
import shutil
import signal

from accelwatch.base.clock import ManualClock
from accelwatch.node.sampler.launch import Child
from accelwatch.node.sampler.protocol.call_registry import CallsOut, map_registry
from accelwatch.node.sampler.protocol.frames import (
    MAX_FRAME_BYTES,
    decode_order,
    encode,
    with_checksum,
)
from accelwatch.node.sampler.protocol.printed import Printed, bounded_file
from accelwatch.node.sampler.protocol.settings import CollectSettings, LetIn, Order, StartOrder
from accelwatch.node.sampler.supervisor import Limits, Supervisor
from accelwatch.node.store.reports import Called, Component, Heartbeat, Report, Returned
from accelwatch.schema.stream.frames import Splitter
from node.sampler.fakes import FAKE, SECOND

ALIVE = Heartbeat(cpu_s=1.0, resident_bytes=1)
MIB = 1 << 20


class SilentChild:
    """A real process that only sleeps, and the far ends of its pipes."""

    def __init__(self, order: StartOrder) -> None:
        self.order = order
        reports, self._report_pipe = os.pipe()
        self._orders, orders = os.pipe()
        os.set_blocking(self._orders, False)
        self._crash = os.memfd_create("crash")
        self._calls = CallsOut(map_registry(self._crash))
        self._printed = bounded_file()
        sleep = shutil.which("sleep") or "/bin/sleep"
        self.pid = os.posix_spawn(sleep, ["sleep", "600"], {})
        self.child = Child(
            self.pid, reports, orders, os.dup(self._crash), Printed(os.dup(self._printed))
        )

    def send(self, *reports: Report | Called | Returned) -> None:
        """Write as a collector does, and note calls as it does."""
        for report in reports:
            if isinstance(report, Called | Returned):
                self._calls.note(report)
            else:
                os.write(self._report_pipe, with_checksum(encode(report)))

    def write(self, data: bytes) -> None:
        """Write as a collector never does."""
        os.write(self._report_pipe, data)

    def print(self, words: bytes) -> None:
        """Print as a vendor's library does."""
        os.write(self._printed, words)

    def end(self, how: signal.Signals = signal.SIGSEGV) -> None:
        """Die, and with that the end of the reports."""
        os.kill(self.pid, how)
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        os.close(self._report_pipe)
        self._report_pipe = -1

    def orders(self) -> list[Order] | None:
        """What came since the last time; None once there will be no more."""
        try:
            chunk = os.read(self._orders, MAX_FRAME_BYTES)
        except BlockingIOError:
            return []
        if not chunk:
            return None
        return [decode_order(body) for body in Splitter(MAX_FRAME_BYTES).feed(chunk)]

    def let_in(self) -> list[Component]:
        """What it was told to call again."""
        return [order.component for order in self.orders() or () if isinstance(order, LetIn)]

    def close(self) -> None:
        """Let go of everything."""
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        for descriptor in (self._report_pipe, self._orders, self._crash, self._printed):
            if descriptor >= 0:
                os.close(descriptor)


class Owner:
    """A supervisor on a clock of its own; `told` is what it told its store."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.clock = ManualClock()
        self.reports: list[Report] = []
        self.children: list[SilentChild] = []
        self.watched: list[int] = []
        # So many children cannot be started.
        self.refuse = 0
        settings = CollectSettings(
            backends=(FAKE, SECOND), options={FAKE: {}, SECOND: {}}, one_shot=True
        )
        self.supervisor = Supervisor(
            settings,
            self.reports.append,
            clock=self.clock,
            limits=limits,
            launch=self._launch,
            watch=self.watched.append,
            unwatch=self.watched.remove,
        )

    def _launch(self, order: StartOrder) -> Child:
        if self.refuse:
            self.refuse -= 1
            raise OSError("no more processes")
        self.children.append(SilentChild(order))
        return self.children[-1].child

    @property
    def child(self) -> SilentChild:
        """The latest."""
        return self.children[-1]

    def after(self, seconds: float) -> int:
        """Let time pass, look once, and say how many children there have been."""
        self.clock.advance(seconds)
        self.supervisor.check()
        return len(self.children)

    def crash(
        self, *reports: Report | Called | Returned, how: signal.Signals = signal.SIGSEGV
    ) -> None:
        """The child tells this and dies with the calls of it out, and that is seen at once."""
        self.child.send(*reports)
        self.supervisor.receive()
        self.child.end(how)
        self.supervisor.receive()

    def close(self) -> None:
        """End everything."""
        self.supervisor.request_stop()
        self.supervisor.stop()
        for child in self.children:
            child.close()
