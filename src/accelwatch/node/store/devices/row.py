"""One device in the store: who it is, the state it is in and since when, and its last good reading."""

from collections.abc import Iterable

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.node.store.accumulate import Accumulator
from accelwatch.node.store.devices.namesakes import Named
from accelwatch.node.store.devices.outline import Outline, outline, own_of, telling_of
from accelwatch.node.store.reports import CRASHED, Failure
from accelwatch.schema.device import STATE_WITHOUT_VALUES, Device, DeviceState
from accelwatch.schema.health import Health, signals
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Reading, foreign_note, wholly_absent
from accelwatch.schema.series import path_of
from accelwatch.schema.snapshot import ReadFailure, is_host

_PARTLY_LOST = frozenset({Absence.LOST, Absence.TIMEOUT})
# Quantities of which a device that works answers at least one.
_CORE = ("utilization_ratio", "memory_used_bytes", "temperature_celsius", "power_watts")
# Sensors that may answer although the chip does not.
_BESIDE = frozenset({"memory", "vr", "soc", "board", "inlet", "outlet"})

# A reading, and reasons for the quantities of which nothing was reported.
CompleteReading = tuple[Reading, dict[Series, Absence]]

# Stands until the first outcome of a device.
FIRST = Failure(absence=Absence.NOT_COLLECTED, code="first", message="not read yet")


class StoredDevice:
    """Mutable; belongs to the store."""

    def __init__(self, device: Device, backend: str, slot: str, wall: float) -> None:
        self.device = device
        # The device's id in what the backend says.
        self.backend_id = device.id
        # That it shares its uuid with others, in words; empty when it does not.
        self.duplicate = ""
        self.backend = backend
        self.slot = slot
        # What was found in the slot, while `device` is only who was last known to be there.
        self.discovered: Device | None = None
        # Position among the devices of its slot: 0 the whole device, then its partitions.
        self.position = 0
        self.state = DeviceState.UNRESPONSIVE
        self.state_since = wall
        self._has_outcome = False
        self.failure: Failure | None = FIRST
        # Whether the failure says something about the device, rather than about the collection.
        self.fault_of_device = False
        # Cycles left until a device that was not discovered again counts as lost; 0: it was.
        self.unclaimed = 0
        self.reading: Reading | None = None
        self.timestamp = 0.0
        self.wall = 0.0
        # How old the reading may grow, where the pace has changed since it was read.
        self.stale_after_s: float | None = None
        self.accumulator: Accumulator | None = None
        self._complete_reading: CompleteReading | None = None
        self._outline: Outline | None = None

    @property
    def is_host(self) -> bool:
        """Whether the row is the host itself."""
        return is_host(self.device)

    def rename(self, named: Named) -> None:
        """Go by another id, and what was read by the old one with it."""
        self.device, self.duplicate = named.device, named.duplicate
        if self.reading is not None and self.reading.device_id != named.device.id:
            self.reading = of_device(self.reading, named.device.id)
            self._complete_reading = None

    def succeed(self, reading: Reading, timestamp: float, wall: float) -> None:
        """A good reading has come; it is as old as its source says."""
        timestamp, wall = timestamp - reading.age_s, wall - reading.age_s
        # The same answer of a slow source, reported again, is no second sample.
        again = reading.pace_s > 0.0 and timestamp - self.timestamp < reading.pace_s / 2.0
        self.reading, self.timestamp, self.wall = reading, timestamp, wall
        self.failure = self.stale_after_s = None
        self.fault_of_device = True
        self._complete_reading = None
        if self.accumulator is not None and not again:
            self.accumulator.add(reading, timestamp)
        self._enter(_state_of_reading(reading), wall)

    def fail(self, failure: Failure, wall: float, *, fault_of_device: bool = True) -> None:
        """The device, as a whole, gave no reading."""
        fault_of_device = fault_of_device and failure.code != CRASHED
        self.failure = failure
        self.fault_of_device = fault_of_device
        state = (
            STATE_WITHOUT_VALUES[failure.absence] if fault_of_device else DeviceState.UNRESPONSIVE
        )
        self._enter(state, wall)

    def complete_reading(
        self, timestamp: float, groups: frozenset[str], one_shot: bool
    ) -> CompleteReading:
        """The last good reading with derived values, and what it is silent about.

        Its reasons are the very same object as long as neither series nor reasons have changed.
        """
        if self._complete_reading is None and self.reading is not None:
            self._complete_reading = self._completed(self.reading, timestamp, groups, one_shot)
        return self._complete_reading or (wholly_absent(self.device.id, Absence.NOT_COLLECTED), {})

    def refusals(self) -> list[ReadFailure]:
        """A shared uuid, and numbers of the last reading that cannot be true, one entry a quantity."""
        shared = [self._refusal("duplicate_uuid", self.duplicate)] if self.duplicate else []
        if self.failure is not None or self.reading is None:
            return shared
        by_quantity: dict[str, str] = {}
        for series, text in self.reading.implausible.items():
            by_quantity.setdefault(series[0], f"{path_of(series)}: {text}")
        return [
            *shared,
            *(self._refusal("implausible", message) for message in by_quantity.values()),
        ]

    def _refusal(self, code: str, message: str) -> ReadFailure:
        return ReadFailure(
            backend=self.backend, device_id=self.device.id, code=code, message=message
        )

    def _enter(self, state: DeviceState, wall: float) -> None:
        # A device that is not well at the first look may have been so for long.
        undated = not self._has_outcome and state is not DeviceState.OK
        self._has_outcome = True
        if state is not self.state:
            self.state, self.state_since = state, 0.0 if undated else wall

    def _completed(
        self, reading: Reading, timestamp: float, groups: frozenset[str], one_shot: bool
    ) -> CompleteReading:
        telling, before = telling_of(reading), self._outline
        same = before is not None and before.telling == telling
        values, notes = reading.values, reading.notes
        derived = None
        if self.accumulator is not None:
            own = before.own if before is not None and same else own_of(telling)
            derived = self.accumulator.values(own, timestamp)
            values = {**values, **derived}
        keys = None if derived is None else derived.keys()
        if before is None or not same or before.derived != keys:
            before = self._outline = outline(
                telling, keys, groups, host=self.is_host, one_shot=one_shot
            )
        silent = before.silent
        if silent.foreign:
            notes = (*notes, foreign_note(series for series in values if series in silent.foreign))
            values = {series: v for series, v in values.items() if series not in silent.foreign}
        completed = msgspec.structs.replace(
            reading, values=values, absent=before.absent, notes=notes
        )
        return completed, silent.unreported


def of_device(reading: Reading, device_id: str) -> Reading:
    """The reading under the id by which its device is known here."""
    if reading.device_id == device_id:
        return reading
    processes = reading.processes and tuple(
        msgspec.structs.replace(process, device_id=device_id) for process in reading.processes
    )
    return msgspec.structs.replace(reading, device_id=device_id, processes=processes)


def _state_of_reading(reading: Reading) -> DeviceState:
    if any(health is Health.FAILED for health, _ in signals(reading)):
        return DeviceState.DEGRADED
    if any(reason in _PARTLY_LOST for reason in reading.absent.values()):
        return DeviceState.DEGRADED
    reported = {series[0] for series in reading.values if not _BESIDE.intersection(series[1:])}
    erring = {series[0] for series, why in reading.absent.items() if why is Absence.ERROR}
    if erring.intersection(_CORE) and not reported.intersection(_CORE):
        return DeviceState.DEGRADED
    return DeviceState.OK


def accumulates(device: Device) -> bool:
    """Whether readings of this row are followed over time: whole accelerators only."""
    return device.parent_id is None and not is_host(device)


def in_order(rows: Iterable[StoredDevice]) -> list[StoredDevice]:
    """Whole devices by vendor and index, each followed by its partitions."""
    listed = list(rows)
    positions = {
        row.device.id: (row.device.vendor, row.device.index, row.device.id) for row in listed
    }

    def key(row: StoredDevice) -> tuple[tuple[str, int, str], int]:
        own = positions[row.device.id]
        return positions.get(row.device.parent_id or "", own), row.position

    return sorted(listed, key=key)
