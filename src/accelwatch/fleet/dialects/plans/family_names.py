"""What the names of families mean to a dialect, worked out once for each that we know."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from accelwatch.fleet.dialects.base.table import Dialect, Fact, FamilyMapping


class FamilyNames(NamedTuple):
    """By name, as the exporter writes it."""

    # With the index of each among the dialect's rows.
    rows: Mapping[str, Sequence[tuple[int, FamilyMapping]]]
    identity: frozenset[str]
    remarks: Mapping[str, str]
    facts: Mapping[str, Fact]
    # All of them.
    of_devices: frozenset[str]
    processes: frozenset[str]


# By the identity of a dialect, which is kept with it.
_kept: dict[int, tuple[Dialect, FamilyNames]] = {}


def cached_names(dialect: Dialect, prefix: str) -> FamilyNames:
    """The names of one of our dialects; others are not allowed here, for the result is kept.

    What stands before its names is the target's own, and nothing is kept with that.
    """
    if prefix:
        return names_of(dialect, prefix)
    entry = _kept.get(id(dialect))
    if entry is None:
        entry = _kept[id(dialect)] = dialect, names_of(dialect, "")
    return entry[1]


def names_of(dialect: Dialect, prefix: str) -> FamilyNames:
    """Those of any dialect."""
    rows: dict[str, list[tuple[int, FamilyMapping]]] = {}
    for rank, row in enumerate(dialect.rows):
        rows.setdefault(prefix + row.name, []).append((rank, row))
    identity = frozenset(prefix + name for name in dialect.identity)
    remarks = {prefix + name: text for name, text in dialect.remarks.items()}
    facts = {prefix + name: fact for name, fact in dialect.facts.items()}
    processes = dialect.processes.families() if dialect.processes else ()
    return FamilyNames(
        rows=rows,
        identity=identity,
        remarks=remarks,
        facts=facts,
        of_devices=frozenset((*rows, *identity, *remarks, *facts)),
        processes=frozenset(prefix + name for name in processes),
    )
