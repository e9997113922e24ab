"""What the faults of a scenario have made of a node and its devices at a moment. Pure."""

import math
from collections.abc import Callable, Iterable

import msgspec

from accelwatch.schema.absence import Absence
from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import EventCount
from accelwatch_simulator.nodes import Unit
from accelwatch_simulator.scenario import NODE_KINDS, Fault, FaultKind, Scenario

_EVENTS_KEPT = 8


class Spell(msgspec.Struct, frozen=True):
    """How a fault stands: whether it is there, since when, how often and how long it was."""

    active: bool
    since_s: float
    times: int
    total_s: float


class DeviceCondition(msgspec.Struct, frozen=True, kw_only=True):
    """What is unlike the usual on one device."""

    state: DeviceState = DeviceState.OK
    since_s: float = 0.0
    absence: Absence | None = None
    """Why the whole device has no values."""
    factors: dict[Series, float] = {}
    values: dict[Series, Number] = {}
    """Values in the place of the usual ones."""
    added: dict[Series, Number] = {}
    events: tuple[ErrorEvent, ...] = ()
    """Their times in seconds of the scenario."""
    counts: tuple[EventCount, ...] = ()


class NodeCondition(msgspec.Struct, frozen=True, kw_only=True):
    """What is unlike the usual on one node."""

    refusal: FaultKind | None = None
    """How the node fails to answer: down, hung, slow or garbage."""
    skew_s: float = 0.0
    devices: dict[int, DeviceCondition] = {}


USUAL = NodeCondition()
_REFUSALS = (
    FaultKind.NODE_DOWN,
    FaultKind.NODE_HUNG,
    FaultKind.GARBAGE,
    FaultKind.SLOW_LORIS,
)
"""The first that is there wins."""


def spell(fault: Fault, time_s: float) -> Spell | None:
    """How a fault stands; None before it first comes."""
    since = time_s - fault.at_s
    if since < 0:
        return None
    lasts = math.inf if fault.lasts_s is None else fault.lasts_s
    if fault.every_s is None:
        return Spell(since < lasts, fault.at_s, 1, min(since, lasts))
    whole = math.floor(since / fault.every_s)
    rest = since - whole * fault.every_s
    lasts = min(lasts, fault.every_s)
    return Spell(rest < lasts, time_s - rest, whole + 1, whole * lasts + min(rest, lasts))


class Conditions:
    """The faults of a scenario by node."""

    def __init__(self, scenario: Scenario) -> None:
        self._by_node: dict[str, list[Fault]] = {}
        for fault in scenario.faults:
            for name in fault.nodes:
                self._by_node.setdefault(name, []).append(fault)

    def of(self, node: str, units: tuple[Unit, ...], time_s: float) -> NodeCondition:
        """The condition of a node `time_s` seconds into the scenario."""
        faults = self._by_node.get(node)
        if faults is None:
            return USUAL
        standing = [(fault, now) for fault in faults if (now := spell(fault, time_s))]
        if not standing:
            return USUAL
        kinds = {fault.spec.kind for fault, now in standing if now.active}
        skew = sum(
            fault.by_s
            for fault, now in standing
            if now.active and fault.spec.kind is FaultKind.CLOCK_SKEW
        )
        return NodeCondition(
            refusal=next((kind for kind in _REFUSALS if kind in kinds), None),
            skew_s=skew,
            devices=_of_devices(units, standing),
        )


def _of_devices(
    units: tuple[Unit, ...], standing: list[tuple[Fault, Spell]]
) -> dict[int, DeviceCondition]:
    found: dict[int, DeviceCondition] = {}
    for at, unit in enumerate(units):
        suffered = [
            (fault, now)
            for fault, now in standing
            if fault.spec.kind not in NODE_KINDS and fault.spec.device in ("*", at)
        ]
        if suffered:
            found[at] = _device(unit, suffered)
    return found


class _Draft:
    def __init__(self) -> None:
        self.state = DeviceState.OK
        self.since_s = 0.0
        self.absence: Absence | None = None
        self.factors: dict[Series, float] = {}
        self.values: dict[Series, Number] = {}
        self.added: dict[Series, Number] = {}
        self.events: list[ErrorEvent] = []
        self.counts: list[EventCount] = []

    def gone(self, state: DeviceState, absence: Absence, now: Spell) -> None:
        if now.active and self.absence is None:
            self.state, self.absence, self.since_s = state, absence, now.since_s

    def add(self, series: Series, value: Number) -> None:
        self.added[series] = self.added.get(series, 0) + value

    def slow(self, factor: float, keys: Iterable[Series]) -> None:
        for series in keys:
            self.factors[series] = self.factors.get(series, 1.0) * factor


_WORKING: tuple[Series, ...] = (
    ("clock_hertz", "graphics"),
    ("clock_hertz", "sm"),
    ("matrix_active_ratio",),
    ("compute_active_ratio",),
    ("memory_bandwidth_utilization_ratio",),
    ("memory_controller_utilization_ratio",),
)


def _lost(draft: _Draft, _fault: Fault, now: Spell, _unit: Unit) -> None:
    draft.gone(DeviceState.LOST, Absence.LOST, now)


def _hung(draft: _Draft, _fault: Fault, now: Spell, _unit: Unit) -> None:
    draft.gone(DeviceState.UNRESPONSIVE, Absence.TIMEOUT, now)


def _xid(draft: _Draft, fault: Fault, now: Spell, unit: Unit) -> None:
    spec = fault.spec
    every = fault.every_s or 0.0
    last = fault.at_s + (now.times - 1) * every
    draft.counts.append(
        EventCount(code=spec.event_code, category=spec.category, total=now.times, last_time=last)
    )
    draft.events += [
        ErrorEvent(
            code=spec.event_code,
            category=spec.category,
            time=round(last - back * every, 3),
            text=spec.text or f"{spec.event_code} was reported",
            source="simulator",
            device_id=unit.device.id,
            subject=unit.device.pci_bus_id or "",
        )
        for back in reversed(range(min(now.times, _EVENTS_KEPT)))
    ]


def _throttle(draft: _Draft, fault: Fault, now: Spell, _unit: Unit) -> None:
    reason = fault.spec.reason
    draft.add(("throttle_seconds_total", reason), round(now.total_s, 3))
    if not now.active:
        return
    draft.values[("throttle_active", reason)] = 1
    draft.slow(fault.spec.factor, (*_WORKING, ("power_watts",)))
    if reason.startswith("thermal"):
        for sensor in ("gpu", "junction"):
            draft.add(("temperature_celsius", sensor), 14)
            draft.add(("window_temperature_max_celsius", sensor), 14)


def _straggler(draft: _Draft, fault: Fault, now: Spell, _unit: Unit) -> None:
    if now.active:
        draft.slow(fault.spec.factor, (*_WORKING, ("power_watts",)))


def _ecc(draft: _Draft, fault: Fault, now: Spell, _unit: Unit) -> None:
    severity = fault.spec.severity
    errors = int(fault.spec.count * now.total_s) + now.times
    draft.add(("ecc_errors_total", severity), errors)
    draft.add(("ecc_lifetime_errors", severity), errors)
    if severity == "uncorrected" and now.active:
        draft.values[("memory_repair_pending",)] = 1
        draft.values[("reset_required",)] = 1


def _link_down(draft: _Draft, fault: Fault, now: Spell, unit: Unit) -> None:
    fabric = unit.model.fabric
    if now.active:
        draft.add(("interconnect_links", fabric, "up"), -fault.spec.count)
        draft.add(("interconnect_links", fabric, "down"), fault.spec.count)
    draft.add(("interconnect_errors_total", fabric, "recovery"), now.times)


_EFFECTS: dict[FaultKind, Callable[[_Draft, Fault, Spell, Unit], None]] = {
    FaultKind.LOST: _lost,
    FaultKind.HUNG: _hung,
    FaultKind.XID: _xid,
    FaultKind.THROTTLE: _throttle,
    FaultKind.STRAGGLER: _straggler,
    FaultKind.ECC: _ecc,
    FaultKind.LINK_DOWN: _link_down,
}


def _device(unit: Unit, suffered: list[tuple[Fault, Spell]]) -> DeviceCondition:
    draft = _Draft()
    for fault, now in suffered:
        _EFFECTS[fault.spec.kind](draft, fault, now, unit)
    return DeviceCondition(
        state=draft.state,
        since_s=draft.since_s,
        absence=draft.absence,
        factors=draft.factors,
        values=draft.values,
        added=draft.added,
        events=tuple(draft.events),
        counts=tuple(draft.counts),
    )
