"""One backend inside the collector: brought up, its devices given turns tick by tick, brought down.

Runs on the collector's loop only; whatever may block is a call on a worker.
"""

import math
from collections.abc import Callable

import msgspec

from accelwatch.backend import Backend, Context, EventSource
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.backoff import Backoff
from accelwatch.node.sampler.protocol.load import Factory
from accelwatch.node.sampler.stack.control import Control
from accelwatch.node.sampler.stack.listener import Listener
from accelwatch.node.sampler.stack.opening import (
    Opening,
    not_there,
    open_backend,
    status_of,
    timed_out,
)
from accelwatch.node.sampler.stack.turn_queue import BEHIND, TurnQueue
from accelwatch.node.sampler.stack.unopened import UnopenedDevices
from accelwatch.node.sampler.turns.calls import CollectorContext
from accelwatch.node.sampler.turns.contract import failure_of, sound_devices
from accelwatch.node.sampler.turns.cycle import CycleTracker
from accelwatch.node.sampler.turns.messages import CallResult
from accelwatch.node.sampler.turns.schedule import Ticks
from accelwatch.node.sampler.turns.slot_table import SlotTable
from accelwatch.node.store.reports import BackendChanged, Component, Events, Failure
from accelwatch.schema.device import Device
from accelwatch.schema.snapshot import BackendState, BackendStatus


class Stack:
    """The life of one backend."""

    def __init__(
        self, name: str, load: Callable[[], Factory], context: Context, collector: CollectorContext
    ) -> None:
        self.name = name
        self._load = load
        self._context = context
        self._collector = collector
        self._settings = collector.settings
        self._control = Control(name, collector)
        self._vendor = ""
        self._status: BackendStatus | None = None
        self._backend: Backend | None = None
        self._slot_table: SlotTable | None = None
        self._listener: Listener | None = None
        self._tracker = CycleTracker(name, collector)
        self._queue = TurnQueue(self._tracker, collector.clock, self._stuck)
        self._ticks = Ticks(math.inf, self._settings.interval_s)
        self._reopen = Backoff(self._settings.rediscover_s)
        self._discover_at = math.inf
        self._trouble: Failure | None = None
        self._unopened = UnopenedDevices(name, collector)

    @property
    def finished(self) -> bool:
        """Whether a single reading has all it can get from this backend."""
        return self._status is not None and not self._tracker.open

    @property
    def next_wake(self) -> float:
        """Moment at which `wake` has something to do if no answer comes before."""
        wake_times = [self._control.deadline]
        if self._slot_table is None:
            if not self._control.busy:
                wake_times.append(self._reopen.until)
        else:
            wake_times += [slot.deadline for slot in self._slot_table.slots.values()]
            wake_times.append(self._ticks.next)
        return min(wake_times)

    def wake(self, now: float) -> None:
        """Do what is due: bring the backend up, end late turns, begin a cycle."""
        if self._control.expire(now):
            self._overdue(now)
        if self._slot_table is None:
            if not self._control.busy and self._reopen.ready(now):
                self._open(now)
            return
        for slot in self._slot_table.slots.values():
            if slot.deadline <= now:
                slot.expire(now)
        if not self._settings.one_shot and self._ticks.due(now):
            self._cycle(now)

    def close(self, then: Callable[[], None]) -> bool:
        """Begin to give the backend back, for good; False when there is nothing to wait for."""
        if self._listener is not None:
            self._listener.stop()
        backend = self._backend
        closing = backend is not None and not self._control.busy
        if closing and backend is not None:
            self._close(backend, then)
        self._control.stop()
        if self._slot_table is not None:
            self._slot_table.stop()
        return closing

    def _overdue(self, now: float) -> None:
        if self._slot_table is None:
            waited_s = self._control.waited_s(now)
            self._report_status(timed_out(self.name, self._vendor, waited_s))
            return
        self._trouble = Failure(
            absence=Absence.TIMEOUT,
            code="timeout",
            message="looking for devices does not come back",
        )
        self._queue.give_up()
        self._tracker.close_if_over()

    def _report_status(self, status: BackendStatus) -> None:
        if status != self._status:
            self._status = status
            self._collector.emit(BackendChanged(status=status))

    def _open(self, now: float) -> None:
        # Counted as failed in advance: of an open that never comes back nobody would count it later.
        self._reopen.failed(now)
        self._control.call(
            "open",
            self._open_backend,
            self._on_opened,
        )

    def _open_backend(self) -> Opening:
        """On the control worker: all that may hang or fail before there are devices.

        A backend whose hardware is not on the bus is not even loaded; it may be plugged in later.
        """
        if why := self._collector.absent(self.name):
            return Opening(status=not_there(self.name, why))
        with self._collector.gate.turn(opening=True):
            backend = self._load()(self._context)
            self._vendor = backend.vendor
            return open_backend(self.name, backend, self._context)

    def _on_opened(self, answer: CallResult) -> None:
        if answer.error is not None:
            self._refused(answer.error)
            return
        opening = answer.result
        assert isinstance(opening, Opening)
        self._report_status(opening.status)
        if opening.backend is not None:
            self._up(opening.backend, opening, self._collector.clock.monotonic())
        else:
            self._control.release_thread()

    def _refused(self, error: Exception) -> None:
        """It did not come up; devices that are there all the same are rows that say why."""
        status = status_of(self.name, self._vendor, error)
        devices = error.devices if isinstance(error, BackendUnavailable) else ()
        if status == self._status and self._unopened.covers(devices):
            return
        self._unopened.accept(devices)
        self._report_status(status)
        self._unopened.report(status)

    def _up(self, backend: Backend, opening: Opening, now: float) -> None:
        self._reopen.succeeded()
        self._backend = backend
        shared = self._control.worker if backend.serial else None
        self._slot_table = SlotTable(self.name, backend, shared, self._collector)
        self._unopened.supersede(opening.devices)
        self._slot_table.accept(opening.devices)
        if opening.events:
            self._collector.emit(Events(backend=self.name, events=opening.events))
        self._discover_at = now + self._settings.rediscover_s
        self._ticks = Ticks.joining(self._collector.started_at, self._settings.interval_s, now)
        self._cycle(now)
        self.listen()

    def listen(self) -> None:
        """Wait for the backend's own events, if it has any and they are not held out."""
        source = self._backend
        is_allowed = (
            not self._settings.one_shot
            and Component(self.name, events=True) not in self._collector.quarantined
        )
        if self._listener is not None or not is_allowed or not isinstance(source, EventSource):
            return
        self._listener = Listener(
            self.name,
            source,
            self._collector.inbox,
            self._collector.clock,
            self._collector.calls.listening(self.name),
        )
        self._listener.start()

    def _down(self, status: BackendStatus) -> None:
        if self._listener is not None:
            self._listener.stop()
        if self._slot_table is not None:
            # Their turns will not report any more; a cycle that waited for them would never close.
            for slot in self._slot_table.slots.values():
                self._tracker.finish_turn(slot, None)
            self._slot_table.clear()
        self._queue.clear()
        self._tracker.close_if_over()
        self._slot_table = self._listener = None
        self._report_status(status)
        self._reopen.failed(self._collector.clock.monotonic())
        backend, self._backend = self._backend, None
        if backend is not None:
            self._close(backend, lambda: None)

    def _close(self, backend: Backend, then: Callable[[], None]) -> None:
        def close() -> None:
            with self._collector.gate.beside():
                backend.close()

        self._control.call("close", close, lambda _: then())

    def _cycle(self, now: float) -> None:
        assert self._slot_table is not None
        # A cycle that waits for one slow device goes on: the others must not wait for it, so who is
        # free gets another turn in it.
        if self._tracker.open:
            self._tracker.skipped()
        else:
            self._tracker.start(now)
        # Looking for devices happens beside the turns, so its failure would be in no cycle's result.
        self._tracker.note(self._trouble)
        stuck = self._stuck()
        if now >= self._discover_at and not self._control.busy and not stuck:
            self._discover(now)
        for slot in self._slot_table.slots.values():
            if slot.in_turn or slot in self._queue:
                continue
            failure = slot.settled(now) or (BEHIND if stuck else None)
            if failure is not None:
                slot.report(failure)
                self._tracker.note(failure)
            else:
                self._queue.add(slot)
        self._queue.start(now)
        self._tracker.close_if_over()

    def _stuck(self) -> bool:
        """Whether a serial driver, which allows one call at a time, has a call out."""
        if self._slot_table is None or self._backend is None or not self._backend.serial:
            return False
        busy = any(slot.busy for slot in self._slot_table.slots.values())
        return busy or self._control.busy

    def _discover(self, now: float) -> None:
        assert self._backend is not None
        backend = self._backend
        self._discover_at = now + self._settings.rediscover_s

        def rediscover() -> tuple[Device, ...]:
            with self._collector.gate.beside():
                return sound_devices(backend.discover())

        self._control.call("discover", rediscover, self._on_discovered)

    def _on_discovered(self, answer: CallResult) -> None:
        if isinstance(answer.error, BackendUnavailable):
            self._down(status_of(self.name, self._vendor, answer.error))
            return
        if answer.error is not None:
            self._trouble = failure_of(answer.error)
        else:
            assert isinstance(answer.result, tuple)
            self._trouble = None
            self._accept(answer.result)
        self._queue.start(self._collector.clock.monotonic())
        self._tracker.close_if_over()

    def _accept(self, devices: tuple[Device, ...]) -> None:
        assert self._slot_table is not None
        assert self._status is not None
        for slot in self._slot_table.accept(devices):
            self._queue.remove(slot)
            self._tracker.finish_turn(slot, None)
        self._report_count(len(devices))

    def _report_count(self, count: int) -> None:
        assert self._status is not None
        if self._status.state is BackendState.OK and self._status.devices != count:
            self._report_status(msgspec.structs.replace(self._status, devices=count))
