"""The tables at work: queries what the rows name, and keeps apart what hardly changes."""

import functools

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected, Link, Number
from accelwatch_nvidia.mapping import record_first
from accelwatch_nvidia.nvml.nvml import DeviceCalls
from accelwatch_nvidia.quantities import conditions, licensing, links
from accelwatch_nvidia.quantities.calls import CALLS, Call
from accelwatch_nvidia.quantities.fields import FIELDS, Field


# Needed at every turn of every device; groups are a setting and the table is constant.
@functools.lru_cache(maxsize=64)
def _call_rows(groups: frozenset[str], slow: bool) -> tuple[Call, ...]:
    """Rows of the call table that are wanted."""
    enabled = groups | {""}
    return tuple(row for row in CALLS if row.slow is slow and row.group in enabled)


# Needed at every turn of every device; groups are a setting and the table is constant.
@functools.lru_cache(maxsize=64)
def _field_rows(groups: frozenset[str], slow: bool) -> tuple[Field, ...]:
    """Rows of the field table that are wanted."""
    enabled = groups | {""}
    return tuple(row for row in FIELDS if row.slow is slow and row.group in enabled)


class Slow(msgspec.Struct):
    """What hardly changes, as last read."""

    groups: frozenset[str]
    collected: Collected
    links: tuple[Link, ...]
    throttle_reasons: int
    fans: int | Absence
    slowdown_margin: Number | Absence
    notes: tuple[str, ...]


def group_rows(group: str) -> tuple[Call, ...]:
    """Rows of the call table in one opt-in group."""
    return tuple(row for row in CALLS if row.group == group)


# Errors that a MIG instance has of its own; those of other memories are the whole GPU's.
PARTITION_ECC = tuple(
    row for row in CALLS if row.series == (("ecc_location_errors_total", "uncorrected", "sram"),)
)


def read_fast(calls: DeviceCalls, collected: Collected, groups: frozenset[str]) -> None:
    """Read what changes from tick to tick."""
    rows = _field_rows(groups, slow=False)
    answers = calls.fields([*(row.pair for row in rows), *conditions.RECOVERY_FIELDS])
    _record_fields(answers, rows, collected)
    conditions.read_recovery(answers, collected)
    record_calls(calls, _call_rows(groups, slow=False), collected)


def read_slow(device_id: str, calls: DeviceCalls, groups: frozenset[str]) -> Slow:
    """Read what hardly changes."""
    collected = Collected(device_id)
    rows = _field_rows(groups, slow=True)
    _record_fields(calls.fields([row.pair for row in rows]), rows, collected)
    record_calls(calls, _call_rows(groups, slow=True), collected)
    conditions.read_repairs(calls, collected)
    conditions.read_sram(calls, collected)
    conditions.read_platform(calls, collected)
    licensing.read_license(calls, collected)
    notes = conditions.read_fabric(calls, collected)
    return Slow(
        groups=groups,
        collected=collected,
        links=links.read_links(calls, collected, groups),
        throttle_reasons=conditions.supported_throttle_reasons(calls),
        fans=conditions.fan_count(calls),
        slowdown_margin=conditions.slowdown_margin(calls),
        notes=notes,
    )


def _record_fields(
    answers: dict[tuple[int, int], int | float | Absence],
    rows: tuple[Field, ...],
    collected: Collected,
) -> None:
    for row in rows:
        raw = answers[row.pair]
        record_first(collected, row.series, raw if isinstance(raw, Absence) else row.convert(raw))


def record_calls(calls: DeviceCalls, rows: tuple[Call, ...], collected: Collected) -> None:
    """Make each call whose series have no value yet."""
    for row in rows:
        if all(series in collected.values for series in row.series):
            continue
        answer = calls.first(row.functions, *row.args)
        outcomes = (
            (answer,) * len(row.series) if isinstance(answer, Absence) else row.convert(answer)
        )
        for series, outcome in zip(row.series, outcomes, strict=True):
            record_first(collected, series, outcome)


def merge(collected: Collected, slow: Collected) -> None:
    """Add what was read slowly; a fresh value stays."""
    collected.values = {**slow.values, **collected.values}
    for series, reason in slow.absent.items():
        record_first(collected, series, reason)
