"""What the faults of a device have made of it at a moment. Pure, and the same for every player."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.errors import (
    DeviceLost,
    DevicePermission,
    DeviceSuspended,
    DeviceTimeout,
    ReadError,
)
from accelwatch.schema.device import STATE_WITHOUT_VALUES, Device, DeviceState
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import EventCount
from accelwatch.system.kernel.xid import XIDS
from accelwatch_lab.scenario.faults import Fault, FaultKind, FaultState

# How many of a fault's latest events are reported.
MOST_EVENTS = 8

# How a device fails to be read; the error carries the absence that every quantity of it gets.
UNREADABLE: dict[FaultKind, type[ReadError]] = {
    FaultKind.LOST: DeviceLost,
    FaultKind.GONE: DeviceLost,
    FaultKind.HANG: DeviceTimeout,
    FaultKind.PERMISSION: DevicePermission,
    FaultKind.SUSPENDED: DeviceSuspended,
    FaultKind.ERROR: ReadError,
}


class DeviceCondition(msgspec.Struct, frozen=True, kw_only=True):
    """What is unlike the usual on one device."""

    # Why the whole device has no values.
    absence: Absence | None = None
    since_s: float = 0.0
    factors: dict[Series, float] = {}
    # Values instead of the usual ones.
    values: dict[Series, Number] = {}
    added: dict[Series, Number] = {}
    # Quantities and series without a value, and why.
    withheld: dict[Series, Absence] = {}
    # Their times in seconds of the scenario.
    events: tuple[ErrorEvent, ...] = ()
    counts: tuple[EventCount, ...] = ()

    @property
    def state(self) -> DeviceState:
        """The state that a node reports for it."""
        return DeviceState.OK if self.absence is None else STATE_WITHOUT_VALUES[self.absence]


def condition_of(
    device: Device,
    faults: Iterable[tuple[Fault, FaultState]],
    fabrics: Sequence[str],
    *,
    source: str,
) -> DeviceCondition:
    """What its faults have made of a device; `fabrics` are those whose links can go down."""
    draft = _Draft(device, fabrics, source)
    for fault, now in faults:
        if error := UNREADABLE.get(fault.spec.kind):
            draft.unreadable(error.absence, now)
        elif effect := _EFFECTS.get(fault.spec.kind):
            effect(draft, fault, now)
    return DeviceCondition(
        absence=draft.absence,
        since_s=draft.since_s,
        factors=draft.factors,
        values=draft.values,
        added=draft.added,
        withheld=draft.withheld,
        events=tuple(draft.events),
        counts=tuple(draft.counts),
    )


def apply(values: dict[Series, Number], suffered: DeviceCondition) -> None:
    """Change a healthy device's values into those of one that suffers; foreign series are left out."""
    for series, factor in suffered.factors.items():
        if series in values:
            usual = values[series]
            values[series] = round(usual * factor) if isinstance(usual, int) else usual * factor
    for series, more in suffered.added.items():
        if series in values:
            values[series] = max(0, values[series] + more)
    for series, value in suffered.values.items():
        if series in values:
            values[series] = value
    for quantity in suffered.withheld:
        for series in [key for key in values if key[: len(quantity)] == quantity]:
            del values[series]


def _text_of(code: str) -> str:
    """What a code means, where NVIDIA documents it; else that it was reported."""
    number = code.removeprefix("xid_")
    is_documented = number != code and number.isdecimal() and int(number) in XIDS
    return XIDS[int(number)][1] if is_documented else f"{code} was reported"


def events_of(fault: Fault, times: int, most: int, device: Device, source: str) -> list[ErrorEvent]:
    """The latest `most` events of a fault that has come so many times, oldest first."""
    spec, every = fault.spec, fault.every_s or 0.0
    last = fault.at_s + (times - 1) * every
    return [
        ErrorEvent(
            code=spec.event_code,
            category=spec.event_category,
            time=round(last - back * every, 3),
            text=spec.text or _text_of(spec.event_code),
            source=source,
            device_id=device.id,
            subject=device.pci_bus_id or "",
        )
        for back in reversed(range(min(times, most)))
    ]


class _Draft:
    def __init__(self, device: Device, fabrics: Sequence[str], source: str) -> None:
        self.device = device
        self.fabrics = fabrics
        self.source = source
        self.absence: Absence | None = None
        self.since_s = 0.0
        self.factors: dict[Series, float] = {}
        self.values: dict[Series, Number] = {}
        self.added: dict[Series, Number] = {}
        self.withheld: dict[Series, Absence] = {}
        self.events: list[ErrorEvent] = []
        self.counts: list[EventCount] = []

    def unreadable(self, absence: Absence, now: FaultState) -> None:
        if now.active and self.absence is None:
            self.absence, self.since_s = absence, now.since_s

    def add(self, series: Series, value: Number) -> None:
        self.added[series] = self.added.get(series, 0) + value

    def slow(self, factor: float) -> None:
        for series in _WORKING:
            self.factors[series] = self.factors.get(series, 1.0) * factor


_WORKING: tuple[Series, ...] = (
    ("clock_hertz", "graphics"),
    ("clock_hertz", "sm"),
    ("matrix_active_ratio",),
    ("compute_active_ratio",),
    ("memory_bandwidth_utilization_ratio",),
    ("memory_controller_utilization_ratio",),
    ("power_watts",),
)


def _event(draft: _Draft, fault: Fault, now: FaultState) -> None:
    spec = fault.spec
    last = fault.at_s + (now.times - 1) * (fault.every_s or 0.0)
    draft.counts.append(
        EventCount(
            code=spec.event_code,
            category=spec.event_category,
            total=now.times,
            last_time=last,
        )
    )
    draft.events += events_of(fault, now.times, MOST_EVENTS, draft.device, draft.source)


def _absent(draft: _Draft, fault: Fault, now: FaultState) -> None:
    if now.active:
        draft.withheld[fault.series] = fault.spec.absence


def _throttle(draft: _Draft, fault: Fault, now: FaultState) -> None:
    reason = fault.spec.throttle_reason
    draft.add(("throttle_seconds_total", reason), round(now.total_s, 3))
    if not now.active:
        return
    draft.values[("throttle_active", reason)] = 1
    draft.slow(fault.spec.factor)
    if reason.startswith("thermal"):
        for sensor in ("gpu", "junction"):
            draft.add(("temperature_celsius", sensor), 14)
            draft.add(("window_temperature_max_celsius", sensor), 14)


def _straggler(draft: _Draft, fault: Fault, now: FaultState) -> None:
    if now.active:
        draft.slow(fault.spec.factor)


def _ecc(draft: _Draft, fault: Fault, now: FaultState) -> None:
    severity = fault.spec.severity
    errors = int(fault.spec.count * now.total_s) + now.times
    draft.add(("ecc_errors_total", severity), errors)
    draft.add(("ecc_lifetime_errors", severity), errors)
    if severity == "uncorrected" and now.active:
        draft.values[("memory_repair_pending",)] = 1
        draft.values[("reset_required",)] = 1


def _link_down(draft: _Draft, fault: Fault, now: FaultState) -> None:
    for fabric in draft.fabrics:
        if now.active:
            draft.add(("interconnect_links", fabric, "up"), -fault.spec.count)
            draft.add(("interconnect_links", fabric, "down"), fault.spec.count)
        draft.add(("interconnect_errors_total", fabric, "recovery"), now.times)


def _link_errors(draft: _Draft, fault: Fault, now: FaultState) -> None:
    for fabric in draft.fabrics:
        errors = int(fault.spec.count * now.total_s)
        draft.add(("interconnect_errors_total", fabric, "crc"), errors)


def _remap(draft: _Draft, fault: Fault, now: FaultState) -> None:
    severity = fault.spec.severity
    draft.add(("memory_remapped_rows", severity), fault.spec.count * now.times)
    if severity == "uncorrected" and now.active:
        draft.values[("memory_repair_pending",)] = 1


_EFFECTS: dict[FaultKind, Callable[[_Draft, Fault, FaultState], None]] = {
    FaultKind.EVENT: _event,
    FaultKind.ABSENT: _absent,
    FaultKind.THROTTLE: _throttle,
    FaultKind.STRAGGLER: _straggler,
    FaultKind.ECC: _ecc,
    FaultKind.LINK_DOWN: _link_down,
    FaultKind.LINK_ERRORS: _link_errors,
    FaultKind.REMAP: _remap,
}
