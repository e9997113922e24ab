"""What an exporter reports of the host itself: our host quantities, beside its devices or alone."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from accelwatch.backend.kit.cpu_time import CpuTimes, busy_ratio
from accelwatch.base.absence import Absence
from accelwatch.exposition import Key
from accelwatch.fleet.dialects.base.table import Dialect, FamilyMapping, Labels
from accelwatch.fleet.dialects.plans.family_names import names_of
from accelwatch.fleet.dialects.plans.formulas import evaluate
from accelwatch.fleet.dialects.plans.plan import Cell, Planner, met
from accelwatch.schema.device import Device, DeviceKind, DeviceState
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading, complete
from accelwatch.schema.snapshot import DeviceView

HOST = Device(id="host", vendor="host", backend="host", index=0, name="host", kind=DeviceKind.HOST)
# Series of one quantity; a node of containers has thousands of interfaces and mounts.
MAX_OF_EACH = 256
_BUSY = ("host_cpu_utilization_ratio",)
_TIMES = "host_cpu_seconds_total"


class HostLayout(NamedTuple):
    """Where the host's quantities of one dialect are among the samples of a page. Never changed."""

    # Of the dialect.
    name: str
    cells: tuple[Cell, ...]
    mapped: frozenset[int]
    rejected: Counter[str]


def host_layout(dialect: Dialect, prefix: str, keys: Sequence[Key]) -> HostLayout:
    """That of a page with these keys."""
    table = Dialect(
        name=dialect.name,
        vendor="host",
        fingerprints=(),
        labels=Labels(only=HOST.name, namespace=(), pod=(), container=(), pod_uid=()),
        rows=_named_rows(dialect, prefix, keys),
    )
    names = names_of(table, prefix)
    planner = Planner(table, names, keys, met(table, names, keys))
    rejected: Counter[str] = Counter()
    cells = _bounded(planner.cells(), rejected)
    return HostLayout(dialect.name, cells, frozenset(planner.mapped), rejected)


class HostPlan:
    """The host of one target."""

    def __init__(self, layout: HostLayout, times: dict[str, CpuTimes]) -> None:
        """`times` keeps the processor times of the scrape before, by dialect."""
        self._name, self._cells = layout.name, layout.cells
        self._times = times

    def view(
        self, values: Sequence[Number], now: float, rejected: Counter[str]
    ) -> DeviceView | None:
        """The host as it stands; None where nothing is reported of it."""
        if not self._cells:
            return None
        numbers: dict[Series, Number] = {}
        missing: dict[Series, Absence] = {}
        for cell in self._cells:
            self._try(cell, values, rejected, numbers, missing)
        self._add_busy(numbers)
        reading = Reading(
            device_id=HOST.id,
            values=numbers,
            absent=missing,
            processes=(),
            sources={"*": self._name},
        )
        return DeviceView(
            device=HOST,
            state=DeviceState.OK,
            state_since=now,
            reading=complete(reading, frozenset({"host"}), host=True),
            sample_time=now,
            sample_age_s=0.0,
        )

    def _try(
        self,
        cell: Cell,
        values: Sequence[Number],
        rejected: Counter[str],
        numbers: dict[Series, Number],
        missing: dict[Series, Absence],
    ) -> None:
        for source in cell.sources:
            outcome = evaluate(source, values, {}, rejected)
            if isinstance(outcome, Absence):
                missing.setdefault(cell.series, outcome)
            elif not isinstance(outcome, str):
                numbers[cell.series] = outcome
                missing.pop(cell.series, None)
                return

    def _add_busy(self, numbers: dict[Series, Number]) -> None:
        """The busy share since the scrape before, where only times are exported."""
        times = {
            series[1]: float(value) for series, value in numbers.items() if series[0] == _TIMES
        }
        if not times or _BUSY in numbers:
            return
        before = self._times.get(self._name)
        if before is None:
            self._times[self._name] = times
            return
        ratio, self._times[self._name] = busy_ratio(before, times)
        if ratio is not None:
            numbers[_BUSY] = ratio


def _named_rows(dialect: Dialect, prefix: str, keys: Sequence[Key]) -> tuple[FamilyMapping, ...]:
    """The rows, with the words by which another family calls the value of a label."""
    learnt: dict[str, dict[str, str]] = {}
    for key in keys:
        naming = dialect.host_names.get(key.name.removeprefix(prefix))
        if naming is not None and (name := key.get(naming[1])):
            learnt.setdefault(naming[0], {}).setdefault(key.get(naming[0]), name)
    return tuple(_with_value_names(row, learnt) for row in dialect.host)


def _with_value_names(row: FamilyMapping, learnt: Mapping[str, Mapping[str, str]]) -> FamilyMapping:
    value_names = {
        label: {**row.value_names.get(label, {}), **some}
        for label, some in learnt.items()
        if f"{{{label}}}" in row.target
    }
    return (
        msgspec.structs.replace(row, value_names={**row.value_names, **value_names})
        if value_names
        else row
    )


def _bounded(cells: Sequence[Cell], rejected: Counter[str]) -> tuple[Cell, ...]:
    counts: Counter[str] = Counter()
    accepted = []
    for cell in cells:
        counts[cell.series[0]] += 1
        if counts[cell.series[0]] <= MAX_OF_EACH:
            accepted.append(cell)
        else:
            rejected["too_many"] += 1
    return tuple(accepted)
