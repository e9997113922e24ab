"""One device's turn: identify it when due, then read it, all before one deadline.

A turn that is too late is reported as a timeout at once, and again at every tick, while its call is
still out; no second call is made meanwhile, and the late answer is thrown away.
"""

import math
from collections.abc import Callable
from pathlib import Path

import msgspec

from accelwatch.backend import Backend, Elsewhere, ReadableAsleep, Request
from accelwatch.base.absence import Absence
from accelwatch.base.backoff import Backoff
from accelwatch.base.errors import DeviceSuspended
from accelwatch.node.sampler.turns.calls import CollectorContext
from accelwatch.node.sampler.turns.contract import encoded_readings, failure_of, sound_identity
from accelwatch.node.sampler.turns.messages import CallResult
from accelwatch.node.sampler.turns.search import Search
from accelwatch.node.sampler.turns.worker import Worker
from accelwatch.node.store.reports import (
    CRASHED,
    Component,
    EncodedOutcome,
    Failure,
    Identified,
    Outcome,
)
from accelwatch.schema.device import Device
from accelwatch.system.kernel.sysfs import is_left_asleep

_EXCLUDED = Failure(
    absence=Absence.NOT_COLLECTED, code="excluded", message="left out by configuration"
)
_LATE = Failure(absence=Absence.TIMEOUT, code="timeout", message="driver call stuck")
# Not for how long: the state of the device has its own beginning, and two clocks would differ.
_WAS_LATE = Failure(
    absence=Absence.TIMEOUT, code="timeout", message="the last driver call returned too late"
)


class SlotContext(msgspec.Struct, frozen=True):
    """What the turns of one backend share."""

    backend: Backend
    name: str
    collector: CollectorContext


def matches(device: Device, selectors: tuple[str, ...]) -> bool:
    """Whether a selector names the device by id, uuid, serial, PCI id or host-local name."""
    names = {device.id, device.uuid, device.serial, device.pci_bus_id, device.name}
    return any(selector in names for selector in selectors)


class Slot:
    """A slot where a backend found a device, and the device's turns."""

    def __init__(self, device: Device, worker: Worker, around: SlotContext) -> None:
        self.device = device
        self.worker = worker
        self.identify_due = True
        # No longer discovered; kept only until its call comes back.
        self.retired = False
        self._around = around
        self._root = Path(around.collector.settings.root)
        # A backend's abilities are checked once: a check takes as long as reading a device.
        backend = around.backend
        self._elsewhere = backend if isinstance(backend, Elsewhere) else None
        self._asleep = backend if isinstance(backend, ReadableAsleep) else None
        self._component = Component(around.name, device.id)
        self._identity: tuple[Device, ...] = ()
        self._call: int | None = None
        self._started_at = 0.0
        self._waiting: Callable[[Failure | None], None] | None = None
        self._backoff = Backoff(free=1)
        self._slow_at = -math.inf
        self._failure: Failure | None = None
        self._search = Search()

    @property
    def busy(self) -> bool:
        """Whether a call is out."""
        return self._call is not None

    @property
    def in_turn(self) -> bool:
        """Whether a turn is under way and not too late."""
        return self._waiting is not None

    @property
    def deadline(self) -> float:
        """Moment at which the present turn is too late; infinite without one."""
        # Without a call there is nothing to be late; a call without a turn is late already.
        if self._waiting is None or not self.busy:
            return math.inf
        collector = self._around.collector
        return min(self._started_at + collector.settings.timeout_s, collector.end)

    def settled(self, now: float) -> Failure | None:
        """The failure that needs no read: excluded, quarantined, still out, or backing off."""
        if matches(self.device, self._around.collector.settings.excluded):
            return _EXCLUDED
        why = self._around.collector.quarantined.get(self._component)
        if why is not None:
            return Failure(absence=Absence.ERROR, code=CRASHED, message=why)
        # A second call into a driver that hangs would hang another thread and bring nothing new.
        if self.busy:
            return _LATE
        if self._failure is not None and not self._backoff.ready(now):
            return self._failure
        return None

    def start(self, now: float, then: Callable[[Failure | None], None]) -> None:
        """Start a turn; `then` is called once, on the loop, with its failure or None."""
        self._started_at = now
        # A turn is: idle -> identify -> read -> idle. `_waiting` is set while the turn is in time,
        # `_call` while a call is in the driver; after `expire` only the latter, until the call
        # returns.
        self._waiting = then
        if self.identify_due or not self._identity:
            self._submit("identify", self._identify, self._on_identified)
        else:
            self._submit("read", self._reader(now), self._on_read)

    def expire(self, now: float) -> None:
        """End the present turn as too late; the numbers count if only processes are late."""
        # A search of /proc that hangs must not cost the numbers that the driver has returned.
        numbers = self._search.numbers(self._identity, self._around.collector.settings.groups)
        if numbers is None:
            self._finish(_LATE, now)
            return
        self._leave_to_search(now)
        self._deliver(numbers, now, self._around.collector.clock.wall())

    def _leave_to_search(self, now: float) -> None:
        """Let the call go on by itself, and have the next one made by another worker.

        A driver that allows one call at a time is not called again before it comes back.
        """
        collector = self._around.collector
        if self._around.backend.serial or collector.settings.one_shot:
            self._search.finish(now, late=True)
            return
        self._search.call, self._call = self._call, None
        self.worker.stop()
        self.worker = collector.worker(f"{self._around.name}:{self.device.id}")

    def retire(self) -> None:
        """The device is no longer there: no more turns, and no report of the one that is out."""
        self.retired = True
        self._waiting = None

    def report(self, failure: Failure) -> None:
        """Report to the owner why there is no reading this time."""
        clock = self._around.collector.clock
        self._around.collector.emit(
            Outcome(
                backend=self._around.name,
                slot=self.device.id,
                monotonic=clock.monotonic(),
                wall=clock.wall(),
                failure=failure,
            )
        )

    def _submit(
        self, action: str, job: Callable[[], object], then: Callable[[CallResult], None]
    ) -> None:
        self._call = self._around.collector.calls.start(
            self.worker,
            job,
            then,
            backend=self._around.name,
            action=action,
            slot=self.device.id,
            in_turn=not self._around.backend.serial,
        )

    def _guard(self, device: Device) -> None:
        settings = self._around.collector.settings
        if self._elsewhere is not None and self._elsewhere.elsewhere:
            return
        if self._asleep is not None and self._asleep.readable_asleep(device):
            return
        if is_left_asleep(self._root, device.pci_bus_id, wake=settings.wake_suspended):
            raise DeviceSuspended(
                f"{device.pci_bus_id} sleeps (power/runtime_status); it was not woken"
            )

    def _identify(self) -> tuple[Device, ...]:
        with self._around.collector.gate.turn():
            self._guard(self.device)
            return sound_identity(self._around.backend.identify(self.device))

    def _reader(self, now: float) -> Callable[[], msgspec.Raw]:
        settings, identity = self._around.collector.settings, self._identity
        slow = now >= self._slow_at
        searches = settings.processes and self._search.due(now)
        request = Request(
            groups=settings.groups,
            processes=searches,
            argv=settings.argv,
            slow=slow,
            numbers=self._search.store_numbers,
        )
        if slow:
            self._slow_at = now + settings.slow_every_s

        def read() -> msgspec.Raw:
            with self._around.collector.gate.turn():
                self._guard(identity[0])
                answer = self._around.backend.read(identity[0], request)
                was_skipped = settings.processes and not searches
                return encoded_readings(answer, identity, settings.groups, searched=not was_skipped)

        return read

    def _on_identified(self, answer: CallResult) -> None:
        self._call = None
        if answer.error is not None or not isinstance(answer.result, tuple):
            self._settle(answer)
            return
        # Another device or other partitions: slow quantities that the backend remembers are not theirs.
        if answer.result != self._identity:
            self._slow_at = -math.inf
        self._identity = answer.result
        self.identify_due = False
        if not self.retired:
            self._around.collector.emit(
                Identified(backend=self._around.name, slot=self.device.id, devices=self._identity)
            )
        if self._waiting is None:
            self._settle(answer)
        elif matches(self._identity[0], self._around.collector.settings.excluded):
            self._finish(_EXCLUDED, answer.timestamp)
        else:
            self._submit("read", self._reader(answer.timestamp), self._on_read)

    def _on_read(self, answer: CallResult) -> None:
        # The numbers of that turn have been reported; its worker's answer only ends the search for
        # processes.
        if answer.call == self._search.call:
            self._search.finish(answer.timestamp, late=True)
            return
        self._call = None
        self._settle(answer)

    def _settle(self, answer: CallResult) -> None:
        # The turn was ended and reported as late: this answer comes too late to count. That it came
        # only now counts against the device.
        if self._waiting is None:
            self._backoff.failed(answer.timestamp)
            self._failure = _WAS_LATE
        elif answer.error is not None:
            self._finish(failure_of(answer.error), answer.timestamp)
        else:
            self._succeed(answer)

    def _succeed(self, answer: CallResult) -> None:
        assert isinstance(answer.result, msgspec.Raw)
        if self._search.call is None:
            self._search.finish(answer.timestamp, late=False)
        self._deliver(answer.result, answer.timestamp, answer.wall)

    def _deliver(self, readings: msgspec.Raw, timestamp: float, wall: float) -> None:
        then, self._waiting = self._waiting, None
        self._backoff.succeeded()
        self._failure = None
        self._around.collector.emit(
            EncodedOutcome(
                backend=self._around.name,
                slot=self.device.id,
                monotonic=timestamp,
                wall=wall,
                duration_s=timestamp - self._started_at,
                readings=readings,
            )
        )
        if then is not None:
            then(None)

    def _finish(self, failure: Failure, now: float) -> None:
        then, self._waiting = self._waiting, None
        self._failure = failure
        # Looking whether a device still sleeps does not wake it, and it may wake at any time: no pause.
        # The pause of a call that is out begins when it has come back.
        if failure.absence is not Absence.SUSPENDED and not self.busy:
            self._backoff.failed(now)
        # Whatever failed may have been reset, replaced or repartitioned before it answers again.
        self.identify_due = True
        self._slow_at = -math.inf
        self.report(failure)
        if then is not None:
            then(failure)
