"""How the samples of a scrape become series of ours: worked out once for as long as the series stay.

A cell is one series of one device; its sources are tried in turn, the first with a value counts.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from accelwatch.exposition import Key
from accelwatch.fleet.dialects.base.sharing import shared
from accelwatch.fleet.dialects.base.table import INT64_BLANK, Combine, Dialect, Fact, FamilyMapping
from accelwatch.fleet.dialects.plans.family_names import FamilyNames
from accelwatch.fleet.dialects.plans.formulas import Formula, Term
from accelwatch.fleet.dialects.plans.identity import DeviceIndex, KeyLabels, first_value
from accelwatch.fleet.dialects.plans.partitions import PartitionDraft, partition_of
from accelwatch.schema.metrics import Series
from accelwatch.schema.series import series_of
from accelwatch.schema.values.plausible import bounds

# Number of the device and partition within it (empty for the whole).
Location = tuple[int, str]

# Catalogue keys that are fields of a view rather than values of its reading.
SPECIAL = frozenset(
    {"health", "device_up", "error_events_total", "error_event_last_timestamp_seconds"}
)

# Never 0 on a device that runs: where an exporter writes 0 for a failed read, the read failed.
NEVER_ZERO = frozenset(
    {
        *("memory_size_bytes", "power_watts", "temperature_celsius", "temperature_limit_celsius"),
        "pcie_link_width_lanes",
    }
)

# Quantities that a partition does not have of its own: exporters repeat the device's on each.
DEVICE_WIDE = (
    "temperature_",
    "power_",
    "clock_",
    "energy_",
    "fan_",
    "pcie_",
    "performance_",
    "throttle_",
    "error_",
)


class Cell(NamedTuple):
    """One series of one location."""

    location: Location
    series: Series
    sources: tuple[Formula, ...]


class _Draft:
    """A source while its samples are gathered."""

    def __init__(self, row: FamilyMapping, combine: Combine) -> None:
        self.row = row
        self.combine = combine
        self.terms: dict[str, Term] = {}


Drafts = dict[tuple[Location, Series], dict[tuple[int, int], _Draft]]


def met(dialect: Dialect, names: FamilyNames, keys: Iterable[Key]) -> DeviceIndex:
    """The devices that the families of a dialect report.

    Samples that the dialect leaves out, as of further partitions of a GPU, say nothing of who there is:
    they have the uuid of the whole with an index of their own.
    """
    own, where = names.of_devices, dialect.where
    device_keys = [key for key in keys if key.name in own]
    return DeviceIndex(
        dialect, [key for key in device_keys if fits(where, key)] if where else device_keys
    )


class Planner:
    """Lays out the cells of one dialect over the keys of one scrape."""

    def __init__(
        self, dialect: Dialect, names: FamilyNames, keys: Sequence[Key], device_index: DeviceIndex
    ) -> None:
        self.dialect = dialect
        self.device_index = device_index
        self.rejected: Counter[str] = Counter()
        # Slots that belong to this dialect, used or not.
        self.mapped: set[int] = set()
        # Each device and partition with a sample of it; None for the whole device.
        self.locations: dict[Location, PartitionDraft | None] = {}
        self._names = names
        # By device: where the number is, and the text around it.
        self.remarks: dict[int, list[tuple[int, str]]] = {}
        # By device: where the number is, and which part of its identity it is.
        self.facts: dict[int, list[tuple[int, Fact]]] = {}
        own, processes = names.of_devices, names.processes
        # By labels, which most samples of a device have in common.
        self._partitions: dict[KeyLabels, PartitionDraft | None] = {}
        self._drafts: Drafts = {}
        for slot, key in enumerate(keys):
            if key.name in own or key.name in processes:
                self._map_sample(slot, key)

    def number(self, key: Key) -> int | None:
        """The device that a sample is about; None when it names none that there is."""
        if key.name in self._names.processes:
            return self.device_index.used_by(key)
        return self.device_index.number(key)

    def _map_sample(self, slot: int, key: Key) -> None:
        ours = fits(self.dialect.where, key)
        if not ours and self.dialect.shares_families:
            return
        self.mapped.add(slot)
        if not ours:
            self.rejected["partition"] += 1
            return
        number, names = self.number(key), self._names
        rows = names.rows.get(key.name, ())
        if number is None:
            self.rejected["no_device"] += bool(rows)
            return
        self.locations.setdefault((number, ""), None)
        partition = self._partition(key)
        if text := names.remarks.get(key.name):
            self.remarks.setdefault(number, []).append((slot, text))
        if fact := names.facts.get(key.name):
            self.facts.setdefault(number, []).append((slot, fact))
        if partition is not None and (rows or key.name in names.identity):
            partition = self.locations.setdefault((number, partition.name), partition) or partition
            partition.learn(key)
        location = (number, partition.name if partition is not None else "")
        for rank, row in rows:
            if fits(row.where, key) and not left_out(row, key):
                self._draft(slot, key, location, rank, row)

    def _partition(self, key: Key) -> PartitionDraft | None:
        labels = key.labels, key.values
        if labels not in self._partitions:
            self._partitions[labels] = partition_of(self.dialect, key)
        return self._partitions[labels]

    def _draft(
        self, slot: int, key: Key, location: Location, rank: int, row: FamilyMapping
    ) -> None:
        series = _fill(row, key)
        if series is None:
            return
        tile = first_value(key, (self.dialect.labels.tile,)) if self.dialect.labels.tile else ""
        late = int(bool(tile))
        if location[1] and series[0].startswith(DEVICE_WIDE):
            location, late = (location[0], ""), 1
        combine = _of_tiles(series[0]) if tile else row.combine
        first = _first_rank(self.dialect, row, rank)
        if row.group and combine is not Combine.ALONE:
            combine = Combine.SUM
        drafts = self._drafts.setdefault((location, series), {})
        draft = drafts.setdefault((first, late), _Draft(row, combine))
        over = f"{row.name}/{_over(row, key)}/{tile}"
        if over in draft.terms:
            self.rejected["repeated"] += 1
        else:
            draft.terms[over] = _term(slot, row, series[0], self.dialect)

    def cells(self) -> list[Cell]:
        """The cells, in the order in which they were met."""
        cells = []
        for (location, series), drafts in self._drafts.items():
            sources = [
                _source(draft)
                for _, draft in sorted(drafts.items(), key=lambda item: item[0])
                if _is_group_complete(self.dialect, draft)
            ]
            if sources:
                cells.append(Cell(location, series, tuple(sources)))
        return cells


def fits(where: Mapping[str, tuple[str, ...]], key: Key) -> bool:
    """Whether a sample's labels have the required values."""
    return all(key.get(label) in values for label, values in where.items())


def left_out(row: FamilyMapping, key: Key) -> bool:
    """Whether a label's value is one that the row leaves out."""
    return any(re.fullmatch(pattern, key.get(label)) for label, pattern in row.without.items())


def _fill(row: FamilyMapping, key: Key) -> Series | None:
    """Our series of a sample; None when a word of it means that it is not for us."""
    if "{" not in row.target:
        return shared(series_of(row.target))
    filled = []
    for segment in row.target.split("."):
        if "{" not in segment:
            filled.append(segment)
            continue
        before, _, remaining = segment.partition("{")
        label, _, after = remaining.partition("}")
        names = row.value_names.get(label, {})
        value = key.get(label)
        name = names.get(value, value if row.verbatim else value.lower())
        if not name:
            return None
        filled.append(f"{before}{name}{after}")
    return shared(tuple(filled))


def _over(row: FamilyMapping, key: Key) -> str:
    if row.over == "*":
        return repr(sorted(zip(key.labels, key.values, strict=True)))
    return key.get(row.over) if row.over else ""


def _term(slot: int, row: FamilyMapping, key: str, dialect: Dialect) -> Term:
    times, per = row.scale
    low, high = bounds(key)
    if row.states:
        low, high = -9e18, 9e18
    if row.flag or row.bits or row.equals is not None:
        high = 9e18  # the count is not the exported number
    if dialect.zero_may_be_failure and key in NEVER_ZERO:
        low = 1e-9
    low = low * per / abs(times) if row.low is None else row.low
    high = high * per / abs(times) if row.high is None else row.high
    return Term(slot, times, per, low, min(high, INT64_BLANK), row.optional)


def _of_tiles(key: str) -> Combine:
    """What the whole is of its tiles: the mean of ratios and clocks, the hottest, else the sum."""
    if key.endswith("_ratio") or key.startswith("clock_"):
        return Combine.MEAN
    return Combine.MAX if key.startswith("temperature_") else Combine.SUM


def _first_rank(dialect: Dialect, row: FamilyMapping, rank: int) -> int:
    """Rows of one group share the rank of the first of them."""
    if not row.group:
        return rank
    return next(at for at, other in enumerate(dialect.rows) if other.group == row.group)


def _is_group_complete(dialect: Dialect, draft: _Draft) -> bool:
    """Whether every row of a group that must be there is."""
    if not draft.row.group:
        return True
    there = {over.partition("/")[0] for over in draft.terms}
    return all(
        row.optional or row.name in there for row in dialect.rows if row.group == draft.row.group
    )


def _source(draft: _Draft) -> Formula:
    terms = tuple(draft.terms.values())
    row = draft.row
    return Formula(
        terms=terms,
        combine=draft.combine,
        states=row.states,
        strict=bool(row.group),
        flag=row.flag,
        equals=row.equals,
        bits=row.bits,
        unless=row.unless,
        unset=row.unset,
    )
