"""The history of a device from the store: range queries, each step read as a scrape would be."""

import math
from collections.abc import Iterable

from accelwatch.base.slices import LongWork
from accelwatch.exposition import Key
from accelwatch.exposition.line import number
from accelwatch.fleet.dialects.foreign import ForeignReader
from accelwatch.fleet.dialects.ours.page import OURS
from accelwatch.fleet.dialects.registry import DIALECTS
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.merge import identity
from accelwatch.fleet.state.history import QUANTITIES
from accelwatch.fleet.tsdb.assembly import Group
from accelwatch.fleet.tsdb.follow import StoreFollower
from accelwatch.fleet.tsdb.origin import Origin, labels_of
from accelwatch.fleet.tsdb.query import Range, selector
from accelwatch.schema.device import Device
from accelwatch.schema.metrics import PREFIX
from accelwatch.schema.reading import Number
from accelwatch.schema.series import path_of, series_of
from accelwatch.schema.snapshot import DeviceView

MAX_STEPS = 720

Rows = dict[str, list[float | None]]


async def store_history(
    store: StoreFollower, device: Device, node: str, *, end: float, steps: int, step_s: int
) -> Rows:
    """A device's quantities at `steps` moments up to `end` (Unix seconds). Raises TargetFault.

    Of several targets that report the device the first that has a value at a time counts.
    """
    merged: Rows = {path_of(series): [None] * steps for series in QUANTITIES}
    for origin in store.origins(node):
        rows = await _of_origin(store, origin, device, end=end, steps=steps, step_s=step_s)
        for name, values in rows.items():
            existing = merged[name]
            merged[name] = [b if a is None else a for a, b in zip(existing, values, strict=True)]
    return merged


async def _of_origin(
    store: StoreFollower, origin: Origin, device: Device, *, end: float, steps: int, step_s: int
) -> Rows:
    groups = store.reader.groups(origin)
    names = _names(groups)
    if not names:
        return {}
    start = end - (steps - 1) * step_s
    own = next((group for group in groups if group.origin.node), None)
    by_label = own.node_label if own is not None and not store.reader.alone(origin) else ""
    chosen = selector(names, store.reader.resolver.matchers(origin, by_label))
    ranges = await store.client.range(chosen, start, end, step_s)
    try:
        keys, columns = await _table(store, ranges, start, steps, step_s)
    except ValueError as error:
        raise TargetFault(Reason.GARBAGE, f"samples cannot be read: {error}") from error
    reader = ForeignReader()
    rows: Rows = {path_of(series): [None] * steps for series in QUANTITIES}
    work = LongWork()
    for step in range(steps):
        values: list[Number] = [column[step] for column in columns]
        if not all(math.isnan(value) for value in values):
            views = reader.read_keys(keys, values, start + step * step_s).devices
            for name, value in _numbers(views, device).items():
                rows[name][step] = value
        await work.yield_control()
    return rows


def _numbers(views: Iterable[DeviceView], device: Device) -> dict[str, float]:
    """The device's numbers at one step."""
    numbers = {}
    for view in views:
        if identity(view.device) == identity(device):
            for series in QUANTITIES:
                value = view.reading.values.get(series)
                if value is not None and math.isfinite(value):
                    numbers[path_of(series)] = float(value)
    return numbers


def _names(groups: list[Group]) -> list[str]:
    """The families of an origin that its history is read from, and one by which it is recognised."""
    there = {key.name for group in groups for key in group.keys}
    needed = {group.age_family for group in groups if group.age_family}
    keys = {series[0] for series in QUANTITIES}
    needed |= there & {PREFIX + key for key in keys}
    for dialect in DIALECTS:
        if dialect is OURS:
            continue
        names = {row.name for row in dialect.rows if series_of(row.target)[0] in keys}
        names |= set(dialect.identity)
        needed |= there & names
        if dialect.any_prefix:
            suffixes = tuple(f"_{name}" for name in names)
            needed |= {name for name in there if name.endswith(suffixes)}
    return sorted(needed & there)


async def _table(
    store: StoreFollower, ranges: list[Range], start: float, steps: int, step_s: int
) -> tuple[tuple[Key, ...], list[list[float]]]:
    """The series of a range query, each with a number a step; NaN where it has none."""
    keys: list[Key] = []
    columns: list[list[float]] = []
    work = LongWork()
    for row in ranges:
        await work.yield_control()
        keys.append(store.reader.resolver.resolve(labels_of(bytes(row.metric))).key)
        column = [math.nan] * steps
        for timestamp, text in row.values:
            at = round((timestamp - start) / step_s)
            if 0 <= at < steps:
                column[at] = float(number(text))
        columns.append(column)
    return tuple(keys), columns
