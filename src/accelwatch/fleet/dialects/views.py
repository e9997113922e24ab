"""From the cells of a plan and the numbers of a scrape to the devices as they stand."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.fleet.dialects.base.counts import recent_events
from accelwatch.fleet.dialects.base.doubles import with_doubts
from accelwatch.fleet.dialects.base.remembered import Failure, Remembered
from accelwatch.fleet.dialects.base.table import INT64_BLANK, UINT32_BLANK
from accelwatch.fleet.dialects.cards import counted_once
from accelwatch.fleet.dialects.page_plan import DialectPlan
from accelwatch.fleet.dialects.plans.arrangement import RowLayout
from accelwatch.fleet.dialects.plans.formulas import blanks_of, evaluate, scaled
from accelwatch.fleet.dialects.plans.plan import SPECIAL, Cell, Location
from accelwatch.fleet.dialects.plans.workload import read_processes
from accelwatch.schema.device import ABSENCE_WITHOUT_VALUES, Device, DeviceState
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.health import Health, by_exporter, evaluate_health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Process, Reading, wholly_absent
from accelwatch.schema.series import path_of
from accelwatch.schema.snapshot import DeviceView, EventCount
from accelwatch.schema.values.plausible import believed_process, oversized, refusal_text
from accelwatch.system.kernel.xid import category_of

# CONFIG_NODES_SHIFT of the kernel is at most 10.
MAX_NUMA_NODES = 1024
_OLD = "the exporter could not read its devices: these are its last numbers"
_NONE_READ = "the exporter answers, but could read none of its devices{}"
_DEVICE_LOST = ", a device is lost"
_UNVERIFIED = "0 may stand for a failed read here: "


class _PlanRow(NamedTuple):
    """One device or partition of the plan."""

    device: Device
    layout: RowLayout
    # What the exporter writes instead of a model, when the device is lost.
    broken: str


class Plan:
    """The devices of one dialect on the pages of one target."""

    def __init__(self, plan: DialectPlan, memory: Remembered) -> None:
        self.dialect = plan.dialect
        self._memory = memory
        self._rows = _rows(plan)
        self._doubts = plan.doubts
        self._cards = _cards(plan)
        self._success, self._lost = plan.arrangement.success, plan.arrangement.lost
        self._sources = {"*": plan.dialect.name}
        self._blanks = blanks_of(plan.dialect)

    def views(
        self, values: Sequence[Number], now: float, rejected: Counter[str]
    ) -> tuple[DeviceView, ...]:
        """The devices; numbers that could not be used are counted in `rejected`."""
        old = any(values[slot] == 0 for slot in self._success)
        views = tuple(self._view(row, values, now, rejected, old) for row in self._rows)
        if self._doubts:
            views = with_doubts(views, self._doubts)
        if self._cards:
            views = counted_once(views, self._cards, self.dialect.card_wide)
        return self._memory.completed(
            self.dialect.name, views, self._failure(values) if old else None, now
        )

    def _failure(self, values: Sequence[Number]) -> Failure:
        code = next((f"{values[slot]:g}" for slot, _ in self._lost if values[slot]), "")
        lost = any(values[slot] == code for slot, code in self._lost)
        note = _NONE_READ.format(f": code {code}" if code else "")
        return Failure(lost, note + (_DEVICE_LOST if lost else ""))

    def _view(
        self, row: _PlanRow, values: Sequence[Number], now: float, rejected: Counter[str], old: bool
    ) -> DeviceView:
        if row.broken:
            return self._lost_view(row, now)
        numbers, missing, refused = self._read(row, values, rejected)
        special = {series: numbers.pop(series) for series in list(numbers) if series[0] in SPECIAL}
        reading = Reading(
            device_id=row.device.id,
            values=numbers,
            absent={**row.layout.absent, **missing} if missing else row.layout.absent,
            processes=self._processes(row, values),
            sources=self._sources,
            notes=self._notes(numbers, old) + _remarks(row, values) + refused,
        )
        state = DeviceState.DEGRADED if old else DeviceState.OK
        if special.get(("device_up",)) == 0:
            # What the page still has of it is the last that was read, not what is.
            state = DeviceState.LOST
            absent = wholly_absent(row.device.id, ABSENCE_WITHOUT_VALUES[state])
            reading = msgspec.structs.replace(absent, notes=reading.notes)
        counts = self._counts(row.device.id, special, now) if special else ()
        events = recent_events(counts, row.device.id, now) if counts else ()
        health, reasons = _health(special, state, reading, events, now)
        return DeviceView(
            device=_with_facts(row, values) if row.layout.facts else row.device,
            state=state,
            state_since=now,
            reading=reading,
            sample_time=now,
            sample_age_s=0.0,
            health=health,
            health_reasons=reasons,
            owners=row.layout.owners,
            event_counts=counts,
        )

    def _lost_view(self, row: _PlanRow, now: float) -> DeviceView:
        state = DeviceState.LOST
        reading = msgspec.structs.replace(
            wholly_absent(row.device.id, ABSENCE_WITHOUT_VALUES[state]),
            notes=(f"the exporter says {row.broken!r} in place of a model",),
        )
        verdict = evaluate_health(state, reading, (), now)
        return DeviceView(
            device=row.device,
            state=state,
            state_since=now,
            reading=reading,
            sample_time=None,
            sample_age_s=None,
            health=verdict.health,
            health_reasons=verdict.reasons,
        )

    def _counts(
        self, device_id: str, special: Mapping[Series, Number], now: float
    ) -> tuple[EventCount, ...]:
        """How often each code was seen; a time of 0 where nothing has it."""
        last = {
            series[1]: float(value)
            for series, value in special.items()
            if series[0] == "error_event_last_timestamp_seconds"
        }
        counts = []
        for series, value in special.items():
            if series[0] == "error_events_total":
                code, total = series[1], int(value)
                time = last.get(code) or self._memory.last_time(device_id, code, total, now)
                category = category_of(code, series[2]).value
                counts.append(EventCount(code=code, category=category, total=total, last_time=time))
        return tuple(counts)

    def _read(
        self, row: _PlanRow, values: Sequence[Number], rejected: Counter[str]
    ) -> tuple[dict[Series, Number], dict[Series, Absence], tuple[str, ...]]:
        """(values, why others have none, what was refused in words)."""
        empty = self._blanks
        numbers: dict[Series, Number] = {}
        missing: dict[Series, Absence] = {}
        doubtful = row.layout.cells
        refused: list[tuple[Series, Number]] = []
        for series, slot, times, per, low, high, cell in row.layout.plain:
            raw = values[slot]
            if low <= raw <= high and raw not in empty:
                numbers[series] = scaled(raw, times, per)
            else:
                doubtful = (*doubtful, cell)
                if raw < INT64_BLANK and math.isfinite(raw) and raw not in self.dialect.blanks:
                    refused.append((series, scaled(raw, times, per)))
        for cell in doubtful:
            self._try(cell, values, rejected, numbers, missing)
        for series in oversized(numbers):
            refused.append((series, numbers.pop(series)))
            missing[series] = Absence.ERROR
            rejected["implausible"] += 1
        remarks = [
            f"{path_of(series)}: {refusal_text(series, value)}"
            for series, value in refused
            if series in missing
        ]
        return numbers, missing, tuple(remarks)

    def _try(
        self,
        cell: Cell,
        values: Sequence[Number],
        rejected: Counter[str],
        numbers: dict[Series, Number],
        missing: dict[Series, Absence],
    ) -> None:
        """Put the first source with a value, or why the best of them has none."""
        reason: Absence | None = None
        for source in cell.sources:
            outcome = evaluate(source, values, self._blanks, rejected)
            if isinstance(outcome, Absence):
                reason = reason or outcome
            elif isinstance(outcome, str):
                numbers[(*cell.series, outcome)] = 1
                return
            else:
                numbers[cell.series] = outcome
                return
        if reason is not None and cell.series[0] not in SPECIAL:
            missing[cell.series] = reason

    def _processes(self, row: _PlanRow, values: Sequence[Number]) -> tuple[Process, ...] | None:
        if row.layout.processes is None:
            return None
        processes = read_processes(row.device.id, row.layout.processes, values)
        return tuple([believed_process(process) for process in processes])

    def _notes(self, numbers: Mapping[Series, Number], old: bool) -> tuple[str, ...]:
        notes = (_OLD,) if old else ()
        if self.dialect.zero_may_be_failure:
            zeros = dict.fromkeys(series[0] for series, value in numbers.items() if value == 0)
            if zeros:
                return (*notes, _UNVERIFIED + ", ".join(zeros))
        return notes


def _rows(plan: DialectPlan) -> list[_PlanRow]:
    devices = plan.devices
    rows = []
    for layout in plan.arrangement.rows:
        number, partition = layout.location
        device = (
            devices[number]
            if layout.partition is None
            else layout.partition.device(devices[number])
        )
        rows.append(_PlanRow(device, layout, "" if partition else plan.broken[number]))
    rows.sort(key=lambda row: _order(devices[row.layout.location[0]], row.layout.location))
    return rows


def _cards(plan: DialectPlan) -> dict[str, str]:
    """By id of a device the card that it shares with others; nothing where no quantity is a card's."""
    if not plan.dialect.card_wide:
        return {}
    chips = Counter(plan.cards)
    return {
        device.id: card
        for device, card in zip(plan.devices, plan.cards, strict=True)
        if card and chips[card] > 1
    }


def _order(device: Device, location: Location) -> tuple[int, str, Location]:
    return device.index, device.name, location


def _with_facts(row: _PlanRow, values: Sequence[Number]) -> Device:
    """The device with the facts of its identity that numbers carry."""
    changes: dict[str, int | str] = {}
    for slot, fact in row.layout.facts:
        number = values[slot]
        if fact.names:
            if name := fact.names.get(number):
                changes[fact.field] = name
        elif 0 <= number < MAX_NUMA_NODES and number == int(number):
            changes[fact.field] = int(number)
    return msgspec.structs.replace(row.device, **changes)


def _remarks(row: _PlanRow, values: Sequence[Number]) -> tuple[str, ...]:
    """The notes by numbers; none for 0 and for numbers without a code."""
    if not row.layout.remarks:
        return ()
    remarks = [
        text.format(int(values[slot]) if "{:" in text else f"{values[slot]:g}")
        for slot, text in row.layout.remarks
        if 0 < values[slot] < (UINT32_BLANK if "{:" in text else 1e6)
    ]
    return tuple(dict.fromkeys(remarks))


def _health(
    special: Mapping[Series, Number],
    state: DeviceState,
    reading: Reading,
    events: Iterable[ErrorEvent],
    now: float,
) -> tuple[Health, tuple[str, ...]]:
    """The judgement of reading and events, and no better than what the exporter says itself."""
    verdict = evaluate_health(state, reading, events, now)
    reported = [series[1] for series, value in special.items() if series[0] == "health" and value]
    if "failed" in reported or "degraded" in reported:
        level = Health.FAILED if "failed" in reported else Health.DEGRADED
        health = Health.FAILED if verdict.health is Health.FAILED else level
        return health, (*verdict.reasons, by_exporter(level, reading))
    return verdict.health, verdict.reasons
