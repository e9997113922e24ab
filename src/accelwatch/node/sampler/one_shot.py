"""One reading of everything, with one deadline, by a child process that a driver may hang or crash.

A crash costs the device, or the backend, that crashed: the others are read by a second child while time
is left.
"""

import select
import sys
from typing import Literal

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.clock import Clock, SystemClock
from accelwatch.node.sampler import launch
from accelwatch.node.sampler.protocol.blame import is_backend, merged
from accelwatch.node.sampler.protocol.frames import Stream
from accelwatch.node.sampler.protocol.settings import (
    CollectSettings,
    QuarantinedComponent,
    StartOrder,
)
from accelwatch.node.store.reports import (
    CRASHED,
    BackendChanged,
    CollectorExited,
    Component,
    Cycle,
    Done,
    EncodedOutcome,
    Failure,
    Outcome,
    Report,
    Written,
)
from accelwatch.schema.snapshot import BackendState, BackendStatus, Snapshot, with_absences

# `fork`: cheapest, for a process with one thread. `exec`: a new interpreter. `thread`: none at all.
# `auto`: `fork`, or `exec` when this process has threads already; `thread` where no process can be
# started.
Isolation = Literal["auto", "fork", "exec", "thread"]

# How often it is looked whether the collector was stopped, while nothing comes from it.
_POLL_S = 0.1
# The collector reports late devices at the deadline; the owner waits no longer than this after it.
_MARGIN_S = 0.1


def read_once(
    settings: CollectSettings, *, isolation: Isolation = "auto", clock: Clock | None = None
) -> Snapshot:
    """One snapshot, complete at most 0.2 s after `settings.timeout_s`, whatever drivers do."""
    return with_absences(OneShot(settings, isolation=isolation, clock=clock).finish())


class OneShot:
    """A reading under way: it starts when built, so that other work can be done before `finish`."""

    def __init__(
        self,
        settings: CollectSettings,
        *,
        isolation: Isolation = "auto",
        clock: Clock | None = None,
    ) -> None:
        self._settings = msgspec.structs.replace(settings, one_shot=True)
        self._isolation = isolation
        self._clock = clock or SystemClock()
        self._started_at = self._clock.monotonic()
        # What a further child leaves alone: backends that are done, and what has crashed.
        self._quarantined: dict[Component, str] = {}
        self._careful = False
        self._complete = False
        self._source = self._start()
        # Imported while the child is at work: a third of what is to be loaded here.
        from accelwatch.node.sampler.stores import store_for

        self._store = store_for(self._settings, self._clock)

    def finish(self) -> Snapshot:
        """Wait for the reading to be complete, or for its deadline."""
        failure = LATE
        while (end := self._follow()) is not None:
            failure = failure_of(end)
            self._store.apply(end)
            if not self._quarantine_suspects(end) or self._left() <= 0:
                break
            self._source = self._start()
            failure = LATE
        if not self._complete:
            self._report_missing(failure)
        self._store.conclude(failure)
        return self._store.snapshot()

    def _report_missing(self, failure: Failure) -> None:
        """A backend of which nothing came is not one whose devices are not there."""
        from accelwatch.node.sampler import unanswered

        reported = {status.name for status in self._store.snapshot().backends}
        for status in unanswered.statuses(self._settings, reported, failure):
            self._store.apply(BackendChanged(status=status))

    def _quarantine_suspects(self, end: CollectorExited) -> bool:
        """Decide what the next child leaves alone; False when that would change nothing.

        Where several devices were being called, they are once called one by one to find the culprit.
        """
        ambiguous = len(end.components) != 1
        if ambiguous and not self._careful:
            self._careful = True
            return True
        culprits = merged(end.components)
        for component in culprits:
            self._quarantined[component] = end.message
            self._store.apply(self._crashed(component, end))
        return bool(culprits)

    def _crashed(self, component: Component, end: CollectorExited) -> Report:
        if is_backend(component):
            return _failed(component.backend, end)
        return Outcome(
            backend=component.backend,
            slot=component.slot,
            monotonic=self._clock.monotonic(),
            wall=end.wall,
            failure=Failure(absence=Absence.ERROR, code=CRASHED, message=end.message),
        )

    def _start(self) -> "_Process | _Thread":
        quarantined = tuple(
            QuarantinedComponent(component=component, reason=why)
            for component, why in self._quarantined.items()
        )
        order = StartOrder(
            settings=self._settings,
            quarantined=quarantined,
            careful=self._careful,
            started_at=self._started_at,
        )
        isolation = self._isolation
        if isolation == "auto":
            isolation = "fork" if _single_threaded() else "exec"
        if isolation != "thread":
            try:
                child = launch.fork(order) if isolation == "fork" else launch.spawn(order)
                return _Process(child, self._clock)
            except OSError:
                if self._isolation != "auto":
                    raise
        return _Thread(order, self._clock)

    def _left(self) -> float:
        return self._started_at + self._settings.timeout_s + _MARGIN_S - self._clock.monotonic()

    def _follow(self) -> CollectorExited | None:
        """Receive reports until all has come or time is up (None), or the collector dies."""
        source = self._source
        try:
            while (left := self._left()) > 0:
                for report in source.receive(left):
                    if isinstance(report, CollectorExited):
                        return report
                    if isinstance(report, Done):
                        self._complete = True
                        return None
                    if isinstance(report, Cycle):
                        self._quarantined[Component(report.backend)] = ""
                    self._store.apply(report)
        finally:
            source.release()
        return None


# Why there is no reading where nothing else is known.
LATE = Failure(
    absence=Absence.TIMEOUT, code="timeout", message="the device was not read before the deadline"
)


def failure_of(end: CollectorExited) -> Failure:
    """The same where the collector has ended."""
    return Failure(absence=Absence.ERROR, code=end.code, message=end.message)


def _single_threaded() -> bool:
    """Whether a fork is safe: no other thread can hold a lock that the child would need."""
    threading = sys.modules.get("threading")
    return threading is None or threading.active_count() == 1


def _failed(name: str, end: CollectorExited) -> BackendChanged:
    status = BackendStatus(
        name=name,
        vendor="",
        state=BackendState.FAILED,
        reason=end.code,
        message=end.message,
        remedy="look for a fault of the driver's library; other backends were read without it",
    )
    return BackendChanged(status=status)


class _Process:
    """Reports from a child process."""

    def __init__(self, child: launch.Child, clock: Clock) -> None:
        self._child = child
        self._clock = clock
        self._stream = Stream(child.reports)
        self._poll = select.poll()
        self._poll.register(child.reports, select.POLLIN)

    def receive(self, timeout_s: float) -> list[Report]:
        """What comes within the time; of a process that has ended, how, and in which backends."""
        if not self._poll.poll(min(timeout_s, _POLL_S) * 1000.0):
            self._child.process.resume()  # a library may have stopped it
            return []
        try:
            return self._stream.read()
        except EOFError:
            return [launch.post_mortem(self._child, self._clock.wall())]

    def release(self) -> None:
        """Kill what is left of it."""
        self._child.release()


class _Thread:
    """Reports from a collector in a thread of this process: drivers can hang, but not crash, alone."""

    def __init__(self, order: StartOrder, clock: Clock) -> None:
        import threading
        from queue import SimpleQueue

        from accelwatch.node.sampler.collector import Collector
        from accelwatch.node.sampler.protocol.load import absent, resolve

        self._reports: SimpleQueue[Report] = SimpleQueue()

        def emit(report: Written) -> None:
            self._reports.put(report.decoded() if isinstance(report, EncodedOutcome) else report)

        collector = Collector(
            order.settings, resolve(order.settings), emit, clock, started_at=order.started_at
        )

        def run() -> None:
            collector.start(order.quarantined, absent(order.settings))
            collector.run()
            collector.close()

        threading.Thread(target=run, name="collector", daemon=True).start()

    def receive(self, timeout_s: float) -> list[Report]:
        """The next report within the time."""
        from queue import Empty

        try:
            return [self._reports.get(timeout=timeout_s)]
        except Empty:
            return []

    def release(self) -> None:
        """The thread ends by itself, at the deadline at the latest."""
