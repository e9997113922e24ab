"""How a row looks at a moment: its values while they are fresh, one reason for all of them otherwise."""

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.node.store.events import EventStore
from accelwatch.node.store.row import Row, Whole
from accelwatch.schema.device import DeviceState
from accelwatch.schema.failure_text import reason
from accelwatch.schema.health import Health, Judgement, Unread, judge
from accelwatch.schema.reading import READS_UNTIL_STALE, Reading, wholly_absent
from accelwatch.schema.snapshot import DeviceView

_BEGINNING_S = 5.0
"""By then a new collector has read, on a busy machine too."""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """When and how rows are looked at."""

    wall: float
    moment: float
    groups: frozenset[str]
    one_shot: bool
    stale_after_s: float | None
    """None: values never grow stale, as in a single reading."""
    events: EventStore


def view_of(row: Row, look: Look) -> DeviceView:
    """The row as a view."""
    age = max(look.moment - row.moment, 0.0) if row.reading is not None else None
    stale = _stale(row, age, look)
    reading, unreported = _whole(row, look, stale)
    state, since = row.state, row.state_since
    if stale:
        state, since = DeviceState.UNRESPONSIVE, row.wall + _stale_after_s(row, look)
    judgement = _judgement(row, state, reading, look, age if stale else None)
    if row.duplicate:
        judgement = _doubtful(judgement, row.duplicate)
    return DeviceView(
        device=row.device,
        state=state,
        state_since=since,
        reading=reading,
        unreported=unreported,
        sample_time=row.wall if row.reading is not None else None,
        sample_age_s=age,
        health=judgement.health,
        health_reasons=judgement.reasons,
        event_counts=look.events.counts_of("" if row.is_host else row.device.id),
        histograms=row.accumulator.histograms() if row.accumulator else {},
    )


def _doubtful(judgement: Judgement, why: str) -> Judgement:
    """No better than degraded: what names the device by its uuid may mean another."""
    health = Health.DEGRADED if judgement.health is Health.OK else judgement.health
    return Judgement(health, (*judgement.reasons, why))


def _stale(row: Row, age: float | None, look: Look) -> bool:
    fresh = age is None or look.stale_after_s is None or age <= _stale_after_s(row, look)
    return row.failure is None and not fresh


def stale_after_a_pause_s(row: Row, look: Look) -> float:
    """How old the last reading may grow while a new collector begins; what is stale stays stale."""
    limit_s, age = _stale_after_s(row, look), look.moment - row.moment
    return limit_s if age > limit_s else max(limit_s, age + _BEGINNING_S)


def _stale_after_s(row: Row, look: Look) -> float:
    """The limit for everybody, or three answers of a source with a slower pace of its own."""
    if row.stale_after_s is not None:
        return row.stale_after_s
    pace_s = 0.0 if row.reading is None else row.reading.pace_s
    return max(look.stale_after_s or 0.0, READS_UNTIL_STALE * pace_s)


def _whole(row: Row, look: Look, stale: bool) -> Whole:
    if stale:
        return wholly_absent(row.device.id, Absence.STALE), {}
    if row.failure is not None:
        return wholly_absent(row.device.id, row.failure.absence), {}
    return row.whole(look.moment, look.groups, look.one_shot)


def _judgement(
    row: Row, state: DeviceState, reading: Reading, look: Look, stale_age: float | None
) -> Judgement:
    """Silence of the collection is no fault of the device: its health is then unknown."""
    if stale_age is not None:
        return Judgement(Health.UNKNOWN, (f"no reading for {stale_age:.0f} s",))
    if row.failure is not None and not row.fault_of_device:
        return Judgement(Health.UNKNOWN, (row.failure.message,))
    events, failure = look.events.of(row.device.id), row.failure
    if failure is None:
        return judge(state, reading, events, look.wall)
    text = reason(row.device.name, failure.code, failure.message)
    return judge(state, reading, events, look.wall, Unread(failure.code, text))
