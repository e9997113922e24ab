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
from accelwatch.fleet.dialects.base.sharing import not_told
from accelwatch.fleet.dialects.base.table import Dialect, Fact
from accelwatch.fleet.dialects.plans.family_names import FamilyNames, kept_names
from accelwatch.fleet.dialects.plans.identity import KeyLabels, Roster
from accelwatch.fleet.dialects.plans.partitions import Part
from accelwatch.fleet.dialects.plans.plan import SPECIAL, Cell, Place, Planner
from accelwatch.fleet.dialects.plans.workload import ProcessSlots, owners, processes
from accelwatch.schema.metrics import Series
from accelwatch.schema.snapshot import Owner

_MOST_KEYS = 2048
"""Of a page that is worth to be known again."""
_MOST = 64
"""Arrangements that are kept."""


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

    place: Place
    part: Part | None
    plain: tuple[Plain, ...]
    cells: tuple[Cell, ...]
    absent: dict[Series, Absence]
    """What the exporter does not tell at all."""
    owners: tuple[Owner, ...]
    processes: tuple[ProcessSlots, ...] | None
    remarks: tuple[tuple[int, str], ...] = ()
    facts: tuple[tuple[int, Fact], ...] = ()


class Arrangement(NamedTuple):
    """Of one dialect over the keys of one page. Never changed once it is made."""

    rows: tuple[RowLayout, ...]
    rejected: Counter[str]
    mapped: frozenset[int]
    """Slots that belong to the dialect, used or not."""
    success: tuple[int, ...]
    lost: tuple[tuple[int, float], ...]
    """Where a failed collection is told, and the number that means a lost device."""


_Mark = tuple[int | None, int | None, tuple[tuple[str, str], ...]]
"""The device that labels name, the one whose process they name, and what else of them matters."""
_Shape = tuple[int, str, tuple[tuple[str, _Mark | None], ...]]
"""Dialect, prefix, and the name of each key with what its labels mean."""

_kept: dict[_Shape, Arrangement] = {}
_consulted: dict[int, frozenset[str] | None] = {}
"""By dialect; those that we know are never dropped."""


def arranged(dialect: Dialect, prefix: str, keys: Sequence[Key], roster: Roster) -> Arrangement:
    """That of a page of one of the dialects that we know, whose devices are those of the roster."""
    names = kept_names(dialect, prefix)
    if len(keys) > _MOST_KEYS or (consulted := _consulted_by(dialect)) is None:
        return _arrangement(dialect, prefix, keys, names, roster)
    shape = id(dialect), prefix, _marked(keys, names, roster, consulted)
    arrangement = _kept.get(shape)
    if arrangement is None:
        arrangement = _arrangement(dialect, prefix, keys, names, roster)
        # Processes and their owners are those of one node at one time: nobody else has such a page.
        if not any(row.owners or row.processes for row in arrangement.rows):
            if len(_kept) >= _MOST:
                _kept.clear()
            _kept[shape] = arrangement
    return arrangement


def _marked(
    keys: Sequence[Key], names: FamilyNames, roster: Roster, consulted: frozenset[str]
) -> tuple[tuple[str, _Mark | None], ...]:
    """Of each key its name, and what a planner asks of the labels of those that it looks at."""
    marks: dict[KeyLabels, _Mark] = {}
    marked: list[tuple[str, _Mark | None]] = []
    for key in keys:
        name, labels, values = key
        mark = None
        if name in names.of_devices or name in names.processes:
            mark = marks.get((labels, values))
            if mark is None:
                more = [pair for pair in zip(labels, values, strict=True) if pair[0] in consulted]
                mark = roster.number(key), roster.used_by(key), tuple(more)
                marks[labels, values] = mark
        marked.append((name, mark))
    return tuple(marked)


def _consulted_by(dialect: Dialect) -> frozenset[str] | None:
    """The labels that a planner looks at once it knows the device of each sample; None for all."""
    if id(dialect) not in _consulted:
        _consulted[id(dialect)] = consulted_labels(dialect)
    return _consulted[id(dialect)]


def consulted_labels(dialect: Dialect) -> frozenset[str] | None:
    """The labels by which a sample is placed, once its device is known; None for all of them."""
    if any(row.over == "*" for row in dialect.rows):
        return None
    labels, used = dialect.labels, dialect.processes
    parts = dialect.partitions
    consulted = frozenset(
        (
            *(labels.part, *labels.namespace, *labels.pod, *labels.container, *labels.pod_uid),
            *(*labels.job, *labels.job_user, *labels.job_queue, *dialect.where),
            *(name for part in parts for name in (part.label, part.within)),
            *(name for part in parts for name in (*part.profile, *part.uuid)),
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
    dialect: Dialect, prefix: str, keys: Sequence[Key], names: FamilyNames, roster: Roster
) -> Arrangement:
    planner = Planner(dialect, names, keys, roster)
    success = prefix + dialect.success if dialect.success else None
    succeeded = tuple(at for at, key in enumerate(keys) if key.name == success)
    codes = {prefix + name: code for name, code in dialect.lost.items()}
    lost = tuple((at, codes[key.name]) for at, key in enumerate(keys) if key.name in codes)
    alive = {prefix + name for name in dialect.alive}
    rows = tuple(_rows(planner, prefix, keys))
    told = (*succeeded, *(at for at, _ in lost), *_named(alive, keys))
    return Arrangement(
        rows, planner.rejected, frozenset(planner.mapped).union(told), succeeded, lost
    )


def _named(names: set[str], keys: Sequence[Key]) -> Iterable[int]:
    return (at for at, key in enumerate(keys) if key.name in names)


def _rows(planner: Planner, prefix: str, keys: Sequence[Key]) -> Iterable[RowLayout]:
    cells: dict[Place, list[Cell]] = {place: [] for place in planner.places}
    for cell in planner.cells():
        cells.setdefault(cell.place, []).append(cell)
    users = owners(planner, keys)
    running = processes(planner, prefix, keys)
    for place, some in cells.items():
        number, part = place
        own = running.get(number, ()) if running is not None and not part else None
        row = _row(place, planner.places.get(place), some, users.get(place, ()), own)
        if not part:
            row = row._replace(
                remarks=tuple(planner.remarks.get(number, ())),
                facts=tuple(planner.facts.get(number, ())),
            )
        yield row


def _row(
    place: Place,
    part: Part | None,
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
    present = frozenset(_whole(cell) for cell in cells if cell.series[0] not in SPECIAL)
    absent = not_told(present, running is not None)
    return RowLayout(place, part, tuple(plain), tuple(others), absent, users, running)


def _whole(cell: Cell) -> Series:
    """The cell's series with a place for the word that a state will add."""
    return (*cell.series, "") if cell.sources[0].states else cell.series
