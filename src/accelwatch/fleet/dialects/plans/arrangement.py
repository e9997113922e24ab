"""What the samples of a page are to its devices, worked out once for all targets whose pages are alike.

The nodes of a fleet run the same exporter, so their pages differ in little but the ids of the devices.
Which sample is which quantity of the page's first, second, third device is then the same for all of
them, and neither worked out nor kept again for each of thousands. Which devices these are is each
target's own (`Roster`).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from accelwatch.base.absence import Absence
from accelwatch.exposition import Key
from accelwatch.fleet.dialects.base.sharing import absence_reasons
from accelwatch.fleet.dialects.base.table import Dialect, Fact
from accelwatch.fleet.dialects.plans.family_names import FamilyNames, cached_names
from accelwatch.fleet.dialects.plans.identity import DeviceIndex, KeyLabels
from accelwatch.fleet.dialects.plans.partitions import PartitionDraft
from accelwatch.fleet.dialects.plans.plan import SPECIAL, Cell, Location, Planner
from accelwatch.fleet.dialects.plans.workload import ProcessSlots, owners, processes
from accelwatch.schema.metrics import Series
from accelwatch.schema.snapshot import Owner

# Of a page that is worth to be known again.
_MOST_KEYS = 2048
# Arrangements that are kept.
_MOST = 64


class Plain(NamedTuple):
    """A cell of one sample, the common case, flat; the whole cell for when the number will not do."""

    series: Series
    slot: int
    times: int
    per: int
    low: float
    high: float
    cell: Cell


class RowLayout(NamedTuple):
    """One device or partition, whichever it is."""

    location: Location
    partition: PartitionDraft | None
    plain: tuple[Plain, ...]
    cells: tuple[Cell, ...]
    # What the exporter does not export at all.
    absent: dict[Series, Absence]
    owners: tuple[Owner, ...]
    processes: tuple[ProcessSlots, ...] | None
    remarks: tuple[tuple[int, str], ...] = ()
    facts: tuple[tuple[int, Fact], ...] = ()


class Arrangement(NamedTuple):
    """Of one dialect over the keys of one page. Never changed once it is made."""

    rows: tuple[RowLayout, ...]
    rejected: Counter[str]
    # Slots that belong to the dialect, used or not.
    mapped: frozenset[int]
    success: tuple[int, ...]
    # Where a failed collection is reported, and the number that means a lost device.
    lost: tuple[tuple[int, float], ...]


# The device that labels name, the one whose process they name, and what else of them matters.
_KeySummary = tuple[int | None, int | None, tuple[tuple[str, str], ...]]
# Dialect, prefix, and the name of each key with what its labels mean.
_Shape = tuple[int, str, tuple[tuple[str, _KeySummary | None], ...]]

# Pages of one exporter release have the same shape. It depends on the shape alone, so no entry is
# ever invalid; all go at once beyond _MOST.
_kept: dict[_Shape, Arrangement] = {}
# By dialect; those that we know are never dropped.
_consulted: dict[int, frozenset[str] | None] = {}


def arranged(
    dialect: Dialect, prefix: str, keys: Sequence[Key], device_index: DeviceIndex
) -> Arrangement:
    """That of a page of one of the dialects that we know, whose devices are those of the roster."""
    names = cached_names(dialect, prefix)
    if len(keys) > _MOST_KEYS or (consulted := _consulted_by(dialect)) is None:
        return _arrangement(dialect, prefix, keys, names, device_index)
    shape = id(dialect), prefix, _summarise(keys, names, device_index, consulted)
    arrangement = _kept.get(shape)
    if arrangement is None:
        arrangement = _arrangement(dialect, prefix, keys, names, device_index)
        # Processes and their owners are those of one node at one time: nobody else has such a page.
        if not any(row.owners or row.processes for row in arrangement.rows):
            if len(_kept) >= _MOST:
                _kept.clear()
            _kept[shape] = arrangement
    return arrangement


def _summarise(
    keys: Sequence[Key], names: FamilyNames, device_index: DeviceIndex, consulted: frozenset[str]
) -> tuple[tuple[str, _KeySummary | None], ...]:
    """Of each key its name, and what a planner reads of its labels, where it reads them."""
    summaries: dict[KeyLabels, _KeySummary] = {}
    summarised: list[tuple[str, _KeySummary | None]] = []
    for key in keys:
        name, labels, values = key
        summary = None
        if name in names.of_devices or name in names.processes:
            summary = summaries.get((labels, values))
            if summary is None:
                more = [pair for pair in zip(labels, values, strict=True) if pair[0] in consulted]
                summary = device_index.number(key), device_index.used_by(key), tuple(more)
                summaries[labels, values] = summary
        summarised.append((name, summary))
    return tuple(summarised)


def _consulted_by(dialect: Dialect) -> frozenset[str] | None:
    """The labels that a planner reads once it knows the device of each sample; None for all."""
    if id(dialect) not in _consulted:
        _consulted[id(dialect)] = consulted_labels(dialect)
    return _consulted[id(dialect)]


def consulted_labels(dialect: Dialect) -> frozenset[str] | None:
    """The labels by which a sample is mapped, once its device is known; None for all of them."""
    if any(row.over == "*" for row in dialect.rows):
        return None
    labels, used = dialect.labels, dialect.processes
    kinds = dialect.partitions
    consulted = frozenset(
        (
            *(labels.tile, *labels.namespace, *labels.pod, *labels.container, *labels.pod_uid),
            *(*labels.job, *labels.job_user, *labels.job_queue, *dialect.where),
            *(name for kind in kinds for name in (kind.label, kind.within)),
            *(name for kind in kinds for name in (*kind.profile, *kind.uuid)),
            *((used.pid, used.command, used.user) if used else ()),
            *(name for row in dialect.rows for name in (*row.where, *row.without, row.over)),
            *(name for row in dialect.rows for name in _filled(row.target)),
        )
    )
    return consulted - {""}


def _filled(target: str) -> Iterable[str]:
    """The labels whose values stand in a target."""
    return (piece.partition("}")[0] for piece in target.split("{")[1:])


def _arrangement(
    dialect: Dialect,
    prefix: str,
    keys: Sequence[Key],
    names: FamilyNames,
    device_index: DeviceIndex,
) -> Arrangement:
    planner = Planner(dialect, names, keys, device_index)
    success = prefix + dialect.success if dialect.success else None
    succeeded = tuple(at for at, key in enumerate(keys) if key.name == success)
    codes = {prefix + name: code for name, code in dialect.lost.items()}
    lost = tuple((at, codes[key.name]) for at, key in enumerate(keys) if key.name in codes)
    alive = {prefix + name for name in dialect.alive}
    rows = tuple(_rows(planner, prefix, keys))
    status_slots = (*succeeded, *(at for at, _ in lost), *_named(alive, keys))
    return Arrangement(
        rows, planner.rejected, frozenset(planner.mapped).union(status_slots), succeeded, lost
    )


def _named(names: set[str], keys: Sequence[Key]) -> Iterable[int]:
    return (at for at, key in enumerate(keys) if key.name in names)


def _rows(planner: Planner, prefix: str, keys: Sequence[Key]) -> Iterable[RowLayout]:
    cells: dict[Location, list[Cell]] = {location: [] for location in planner.locations}
    for cell in planner.cells():
        cells.setdefault(cell.location, []).append(cell)
    users = owners(planner, keys)
    running = processes(planner, prefix, keys)
    for location, some in cells.items():
        number, partition = location
        own = running.get(number, ()) if running is not None and not partition else None
        row = _row(location, planner.locations.get(location), some, users.get(location, ()), own)
        if not partition:
            row = row._replace(
                remarks=tuple(planner.remarks.get(number, ())),
                facts=tuple(planner.facts.get(number, ())),
            )
        yield row


def _row(
    location: Location,
    partition: PartitionDraft | None,
    cells: list[Cell],
    users: tuple[Owner, ...],
    running: tuple[ProcessSlots, ...] | None,
) -> RowLayout:
    plain, others = [], []
    for cell in cells:
        source = cell.sources[0]
        if len(source.terms) == 1 and not (
            source.states
            or source.flag
            or source.strict
            or source.bits
            or source.equals is not None
        ):
            slot, times, per, low, high, _ = source.terms[0]
            plain.append(Plain(cell.series, slot, times, per, low, high, cell))
        else:
            others.append(cell)
    present = frozenset(_full_series(cell) for cell in cells if cell.series[0] not in SPECIAL)
    absent = absence_reasons(present, running is not None)
    return RowLayout(location, partition, tuple(plain), tuple(others), absent, users, running)


def _full_series(cell: Cell) -> Series:
    """The cell's series with room for the word that a state will add."""
    return (*cell.series, "") if cell.sources[0].states else cell.series
