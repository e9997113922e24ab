"""A row at a time: its values while they are fresh, one reason for all of them otherwise."""

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.node.store.devices.row import CompleteReading, StoredDevice
from accelwatch.node.store.events import EventStore
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health, HealthEvaluation, Unread, evaluate_health
from accelwatch.schema.reading import READS_UNTIL_STALE, Reading, wholly_absent
from accelwatch.schema.snapshot import DeviceView
from accelwatch.schema.status.failure_text import reason

# By then a new collector has read, on a busy machine too.
_STARTUP_S = 5.0


class ViewContext(msgspec.Struct, frozen=True, kw_only=True):
    """When and how rows are viewed."""

    wall: float
    timestamp: float
    groups: frozenset[str]
    one_shot: bool
    # None: values never grow stale, as in a single reading.
    stale_after_s: float | None
    events: EventStore


def view_of(row: StoredDevice, context: ViewContext) -> DeviceView:
    """The row as a view."""
    age = max(context.timestamp - row.timestamp, 0.0) if row.reading is not None else None
    stale = _stale(row, age, context)
    reading, unreported = _complete_reading(row, context, stale)
    state, since = row.state, row.state_since
    if stale:
        state, since = DeviceState.UNRESPONSIVE, row.wall + _stale_after_s(row, context)
    verdict = _verdict_of(row, state, reading, context, age if stale else None)
    if row.duplicate:
        verdict = _doubtful(verdict, row.duplicate)
    return DeviceView(
        device=row.device,
        state=state,
        state_since=since,
        reading=reading,
        unreported=unreported,
        sample_time=row.wall if row.reading is not None else None,
        sample_age_s=age,
        health=verdict.health,
        health_reasons=verdict.reasons,
        event_counts=context.events.counts_of("" if row.is_host else row.device.id),
        histograms=row.accumulator.histograms() if row.accumulator else {},
    )


def _doubtful(verdict: HealthEvaluation, why: str) -> HealthEvaluation:
    """No better than degraded: what names the device by its uuid may mean another."""
    health = Health.DEGRADED if verdict.health is Health.OK else verdict.health
    return HealthEvaluation(health, (*verdict.reasons, why))


def _stale(row: StoredDevice, age: float | None, context: ViewContext) -> bool:
    fresh = age is None or context.stale_after_s is None or age <= _stale_after_s(row, context)
    return row.failure is None and not fresh


def stale_after_a_pause_s(row: StoredDevice, context: ViewContext) -> float:
    """How old the last reading may grow while a new collector begins; what is stale stays stale."""
    limit_s, age = _stale_after_s(row, context), context.timestamp - row.timestamp
    return limit_s if age > limit_s else max(limit_s, age + _STARTUP_S)


def _stale_after_s(row: StoredDevice, context: ViewContext) -> float:
    """The limit for everybody, or three answers of a source with a slower pace of its own."""
    if row.stale_after_s is not None:
        return row.stale_after_s
    pace_s = 0.0 if row.reading is None else row.reading.pace_s
    return max(context.stale_after_s or 0.0, READS_UNTIL_STALE * pace_s)


def _complete_reading(row: StoredDevice, context: ViewContext, stale: bool) -> CompleteReading:
    if stale:
        return wholly_absent(row.device.id, Absence.STALE), {}
    if row.failure is not None:
        return wholly_absent(row.device.id, row.failure.absence), {}
    return row.complete_reading(context.timestamp, context.groups, context.one_shot)


def _verdict_of(
    row: StoredDevice,
    state: DeviceState,
    reading: Reading,
    context: ViewContext,
    stale_age: float | None,
) -> HealthEvaluation:
    """Silence of the collection is no fault of the device: its health is then unknown."""
    if stale_age is not None:
        return HealthEvaluation(Health.UNKNOWN, (f"no reading for {stale_age:.0f} s",))
    if row.failure is not None and not row.fault_of_device:
        return HealthEvaluation(Health.UNKNOWN, (row.failure.message,))
    events, failure = context.events.of(row.device.id), row.failure
    if failure is None:
        return evaluate_health(state, reading, events, context.wall)
    text = reason(row.device.name, failure.code, failure.message)
    return evaluate_health(state, reading, events, context.wall, Unread(failure.code, text))
