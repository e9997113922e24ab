"""Keeps one collector process alive for an agent: restarts it, finds whose fault a crash was, ends it.

All methods belong to one thread, the store's owner; none of them blocks for longer than a moment.
"""

import logging
import select
import threading
from collections.abc import Callable

import msgspec

from accelwatch.base.backoff import Backoff
from accelwatch.base.clock import Clock, SystemClock
from accelwatch.node.sampler.exclusion_reporter import ExclusionReporter
from accelwatch.node.sampler.launch import Child, post_mortem, spawn
from accelwatch.node.sampler.memory_limit import MemoryLimit
from accelwatch.node.sampler.protocol.blame import Quarantine
from accelwatch.node.sampler.protocol.frames import Stream
from accelwatch.node.sampler.protocol.load import resolve
from accelwatch.node.sampler.protocol.settings import (
    CollectSettings,
    QuarantinedComponent,
    StartOrder,
)
from accelwatch.node.sampler.turns.schedule import HEARTBEAT_S
from accelwatch.node.store.reports import (
    BackendChanged,
    CollectorExited,
    Component,
    Heartbeat,
    Report,
)

logger = logging.getLogger(__name__)

# How often `check` wants to be called while no sign of life comes.
CHECK_S = 0.5
# After a sign of life the next one has come by then.
_NEXT_SIGN_S = HEARTBEAT_S + CHECK_S
# How long the child is given to end by itself.
STOP_S = 0.7


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """When a living collector is ended."""

    # Without a sign of life, which comes every two seconds: a driver holds the interpreter.
    silence_s: float = 5.0
    # The same before the first sign, while modules are loaded.
    first_silence_s: float = 20.0
    # Ten times what it needs, and with the server's own less than the shipped units allow.
    resident_bytes: int = 256 << 20
    # A child that lived this long is restarted at once when it ends.
    calm_s: float = 30.0


def _ignore(_: int) -> None:
    pass


class Supervisor:
    """One collector process and its successors.

    `sink` gets every report, in order. `watch` and `unwatch` get the descriptor whose input calls for
    `receive`.
    """

    def __init__(
        self,
        settings: CollectSettings,
        sink: Callable[[Report], None],
        *,
        clock: Clock | None = None,
        limits: Limits | None = None,
        launch: Callable[[StartOrder], Child] = spawn,
        watch: Callable[[int], None] = _ignore,
        unwatch: Callable[[int], object] = _ignore,
    ) -> None:
        # The child gets the settings as they are: it loads a backend that is not configured by name
        # only where its hardware is.
        self._settings = msgspec.structs.replace(settings, one_shot=False)
        self._backends = {Component(name) for name in resolve(settings)}
        self._sink = sink
        self._clock = clock or SystemClock()
        self._limits = limits or Limits()
        self._launch = launch
        self._watch = watch
        self._unwatch = unwatch
        self._child: Child | None = None
        self._stream = Stream(-1)
        self._quarantine = Quarantine()
        self._waiting: set[Component] = set()
        self._careful = False
        self._exclusions = ExclusionReporter(sink, self._clock)
        self._restart = Backoff(0.5, 30.0, free=2)
        self._started = 0.0
        self._received_at = 0.0
        self._silence_s = self._limits.first_silence_s
        self._damaged = 0
        self._memory = MemoryLimit(self._limits.resident_bytes)
        self._stopping = False

    @property
    def descriptor(self) -> int | None:
        """To be read when readable, by `receive`; changes with each child, None between them."""
        return self._child.reports if self._child is not None else None

    @property
    def pid(self) -> int | None:
        """The child's process id; None between children."""
        return self._child.process.pid if self._child is not None else None

    @property
    def patience_s(self) -> float:
        """How long an owner may wait that calls `check` whenever something has come.

        Once the next heartbeat is overdue, the owner checks silence and memory every CHECK_S: a call
        that holds the interpreter reports nothing while it uses up memory.
        """
        if self._child is None:
            return CHECK_S
        return max(self._received_at + _NEXT_SIGN_S - self._clock.monotonic(), CHECK_S)

    def receive(self) -> None:
        """Read and forward the reports that have come."""
        child = self._child
        if child is None:
            return
        try:
            reports = self._stream.read()
        except EOFError:
            self._buried(self._post_mortem(child))
            return
        for report in reports:
            self._forward(report)
        if any(isinstance(report, Heartbeat) for report in reports):
            _log_printed(child)
        if self._stream.damaged > self._damaged:
            logger.warning("reports were damaged and left out count=%d", self._stream.damaged)
            self._damaged = self._stream.damaged

    def check(self) -> None:
        """Start the child when it is time, end it when it must not live; `patience_s` says how often."""
        self.receive()
        now = self._clock.monotonic()
        if self._child is None:
            if not self._stopping and self._restart.ready(now):
                self._start(now)
        # No child -> started -> alive -> ended, by itself or by us -> no child. `_restart` holds
        # the pause before the next start.
        elif now - self._received_at > self._silence_s:
            self._kill("hang", f"no sign of life for {now - self._received_at:.0f} s")
        elif not self._too_big(self._child.process.pid, now):
            self._readmit(now)
            # Only a child that has lived for a while clears the record: one that crashes at its
            # first reading starts just as well.
            if now - self._started > self._limits.calm_s:
                self._restart.succeeded()
                self._quarantine.forgive(now)

    def _too_big(self, pid: int, now: float) -> bool:
        """Kill a child that uses too much memory."""
        excess = self._memory.check(pid, now)
        if excess is not None:
            # To blame the call in flight for a slow leak would exclude a device for nothing.
            self._kill(
                "memory", f"{excess.resident_bytes >> 20} MiB are resident", blame=excess.is_sudden
            )
        return excess is not None

    def pump(self, timeout_s: float) -> None:
        """Wait up to `timeout_s` for reports, then check: for owners without an event loop."""
        if self._child is not None:
            select.select([self._child.reports], [], [], timeout_s)
        else:
            select.select([], [], [], min(timeout_s, CHECK_S))
        self.check()

    def request_stop(self) -> None:
        """No restart any more; the child ends within half a second unless a driver holds it."""
        self._stopping = True
        if self._child is not None:
            self._child.request_stop()

    @property
    def stopped(self) -> bool:
        """Whether no child is left."""
        return self._child is None

    def stop(self) -> None:
        """End the child: by request, and after a moment for certain."""
        if self._stopping:
            self._release()
            return
        self.request_stop()
        until = self._clock.monotonic() + STOP_S
        while (child := self._child) and (left := until - self._clock.monotonic()) > 0:
            select.select([child.reports], [], [], left)
            self.receive()
        self._release()

    def _release(self) -> None:
        if self._child is not None:
            self._unwatch(self._child.reports)
            self._child.release(patient=True)
            self._child = None

    def _start(self, now: float) -> None:
        self._waiting = set(self._quarantine.quarantined(now))
        quarantined = tuple(
            QuarantinedComponent(component=component, reason=self._exclusions.reason(component))
            for component in sorted(self._waiting)
        )
        order = StartOrder(settings=self._settings, quarantined=quarantined, careful=self._careful)
        self._quarantine.admitted(
            (self._backends - self._waiting) | self._quarantine.on_trial(now), now
        )
        self._started = self._received_at = now
        self._memory.restart(now)
        self._silence_s = self._limits.first_silence_s
        try:
            child = self._launch(order)
        except OSError as error:
            self._restart.failed(now)
            logger.error("collector cannot be started error=%s", error)
            return
        self._child = child
        self._stream = Stream(child.reports)
        self._damaged = 0
        self._watch(child.reports)

    def _forward(self, report: Report) -> None:
        self._received_at = self._clock.monotonic()
        self._silence_s = self._limits.silence_s
        if isinstance(report, BackendChanged):
            self._exclusions.note_status(report.status)
        self._sink(report)

    def _post_mortem(self, child: Child, hint: str = "") -> CollectorExited:
        return post_mortem(child, self._clock.wall(), hint=hint)

    def _kill(self, code: str, why: str, *, blame: bool = True) -> None:
        if self._child is None:
            return
        self._child.kill()
        end = self._post_mortem(self._child, why)
        components = end.components if blame else ()
        self._buried(msgspec.structs.replace(end, code=code, components=components))

    def _buried(self, end: CollectorExited) -> None:
        """The child has ended: report it, exclude the component at fault, start the next when due."""
        self._release()
        if self._stopping:
            return
        logger.warning("collector ended code=%s message=%s", end.code, end.message)
        now = self._clock.monotonic()
        self._sink(end)
        pauses = self._quarantine.crashed(end.components, now)
        for component, pause in pauses.items():
            self._exclusions.report(component, f"excluded for {pause:.0f} s: {end.message}")
        # When several calls were inside, the next process makes them one by one: its crash names one.
        self._careful = len(end.components) != 1
        # With the culprit held out the next process need not wait; without one it would crash again at
        # once.
        if not pauses:
            self._restart.failed(now)
        # A child ends with the thread that began it (prctl(2), PR_SET_PDEATHSIG), and what draws the
        # first picture ends soon: `check` begins it then, in half a second.
        if self._restart.ready(now) and threading.current_thread() is threading.main_thread():
            self._start(now)

    def _readmit(self, now: float) -> None:
        if self._child is None:
            return
        free = self._waiting - self._quarantine.quarantined(now)
        for component in sorted(free):
            self._child.readmit(component)
        self._quarantine.admitted(free, now)
        self._waiting -= free


def _log_printed(child: Child) -> None:
    """Log what vendor libraries have printed: the beginning, once."""
    if child.printed is not None and (text := child.printed.new_output()):
        more = "; what follows is left out" if child.printed.full else ""
        logger.warning("a vendor library printed: %s%s", text, more)
