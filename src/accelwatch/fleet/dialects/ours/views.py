"""The moving half of our own text: a device's numbers as they stand, put into a view."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.fleet.dialects.base.reported_values import ReportedValues
from accelwatch.fleet.dialects.ours.rows import OurRow
from accelwatch.schema.device import ABSENCE_WITHOUT_VALUES, UP, DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Link, Number, Process, Reading, wholly_absent
from accelwatch.schema.snapshot import DeviceView, EventCount


def state_of(row: OurRow, values: Sequence[Number], down: list[DeviceState]) -> DeviceState:
    """The state; `down` are the vendor's states of devices that are not up, of which the text counts.

    What says nothing but that a device cannot be read does not say that it is gone: an older agent
    reports its state by these counts only, which name it where all devices that are down are alike.
    """
    asleep = row.apart.suspended
    if not _is_down(row, values):
        return DeviceState.OK
    if asleep is not None and values[asleep]:
        return DeviceState.SUSPENDED
    reported = [state for state, slot in row.apart.unreadable if values[slot] == 1]
    return (
        next(iter(set(reported or down)))
        if len(set(reported or down)) == 1
        else DeviceState.DEGRADED
    )


def _is_down(row: OurRow, values: Sequence[Number]) -> bool:
    up = row.apart.up
    return up is not None and not values[up]


def read_row(
    row: OurRow, values: Sequence[Number], now: float, state: DeviceState, rejected: Counter[str]
) -> DeviceView:
    """One device or partition; a partition stands as its parent does."""
    parent = row.parent or row
    slot = parent.apart.read_at
    read_at = float(values[slot]) if slot is not None and math.isfinite(values[slot]) else None
    if slot is None and not _is_down(parent, values):
        read_at = now
    return DeviceView(
        device=row.device,
        state=state,
        state_since=now if state in UP or read_at is None else read_at,
        reading=_reading(row, values, state, rejected),
        sample_time=read_at,
        sample_age_s=None if read_at is None else max(0.0, now - read_at),
        health=_health(parent, values),
        owners=row.owners,
        event_counts=_events(row, values),
        histograms=_histograms(row, values) if row.histograms else {},
    )


def _reading(
    row: OurRow, values: Sequence[Number], state: DeviceState, rejected: Counter[str]
) -> Reading:
    reported = row.pick(values)
    if not reported and _is_down(row.parent or row, values):
        reason = ABSENCE_WITHOUT_VALUES.get(state, Absence.ERROR)
        return wholly_absent(row.device.id, reason)
    numbers: Mapping[Series, Number] = ReportedValues(row.positions, reported)
    bad: list[Series] = []
    if not math.isfinite(sum(reported)):
        bad = [series for series, value in numbers.items() if not math.isfinite(value)]
        numbers = {series: value for series, value in numbers.items() if math.isfinite(value)}
        rejected["not_finite"] += len(bad)
    processes = _processes(row, values)
    absent = row.unlisted if processes is None else row.absent
    if bad:
        absent = {**absent, **dict.fromkeys(bad, Absence.ERROR)}
    return Reading(
        device_id=row.device.id,
        values=numbers,
        absent=absent,
        processes=processes,
        links=_links(row, numbers),
    )


def _links(row: OurRow, numbers: Mapping[Series, Number]) -> tuple[Link, ...]:
    if not row.links:
        return ()
    states = [numbers.get(("link_up", link.fabric, link.link)) for link in row.links]
    return tuple(
        msgspec.structs.replace(link, up=None if state is None else bool(state))
        for link, state in zip(row.links, states, strict=True)
    )


def _processes(row: OurRow, values: Sequence[Number]) -> tuple[Process, ...] | None:
    """The processes; None when the text has only their number, or not even that."""
    apart = row.apart
    if not apart.processes:
        counts = apart.process_counts
        return () if counts and not any(values[slot] for slot in counts) else None
    return tuple(
        [
            Process(
                device_id=row.device.id,
                pid=pid,
                command=command,
                user=user,
                gpu_memory_bytes=None if memory is None else _integer(values[memory]),
                utilization_ratio=None if ratio is None else _finite(values[ratio]),
            )
            for pid, command, user, memory, ratio in apart.processes
        ]
    )


def _integer(value: Number) -> int | None:
    return int(value) if math.isfinite(value) else None


def _finite(value: Number) -> float | None:
    return float(value) if math.isfinite(value) else None


def _health(row: OurRow, values: Sequence[Number]) -> Health:
    levels = [level for level, slot in row.apart.health if values[slot] == 1]
    return levels[0] if len(levels) == 1 else Health.UNKNOWN


def _events(row: OurRow, values: Sequence[Number]) -> tuple[EventCount, ...]:
    counts = []
    for code, category, slot, last in row.apart.events:
        if math.isfinite(values[slot]):
            counts.append(
                EventCount(
                    code=code,
                    category=category,
                    total=int(values[slot]),
                    last_time=0.0 if last is None else float(values[last]),
                )
            )
    return tuple(counts)


def _histograms(row: OurRow, values: Sequence[Number]) -> dict[str, tuple[tuple[int, ...], float]]:
    histograms = {}
    for key, entries in row.histograms.items():
        buckets = sorted(
            (_edge(edge), values[slot]) for suffix, edge, slot in entries if suffix == "_bucket"
        )
        total = next((values[slot] for suffix, _, slot in entries if suffix == "_sum"), 0)
        if all(math.isfinite(count) for _, count in buckets) and math.isfinite(total):
            histograms[key] = (tuple(int(count) for _, count in buckets), total)
    return histograms


def _edge(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.inf
