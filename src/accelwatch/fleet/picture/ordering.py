"""The order of rows: by a column, groups before their nodes, folded groups closed. Pure."""

from collections.abc import Callable, Collection, Iterable

from accelwatch.fleet.names import NodeState
from accelwatch.fleet.picture.tally import FleetRow
from accelwatch.schema.natural_order import natural

Value = Callable[[FleetRow], float | None]


def _badness(row: FleetRow) -> float | None:
    """None for a node that never reported: the totals show a wrong list of targets, which shall
    not fill the screen before what runs and what has failed."""
    if row.node and row.state == NodeState.NEVER and not row.devices and not row.missing:
        return None
    return row.severity * 1000 + row.bad + row.missing


# What rows are sorted by; `node` is their name.
VALUES: dict[str, Value] = {
    "worst": _badness,
    "age": lambda row: row.age_s,
    "devices": lambda row: row.total,
    "load": lambda row: row.load_ratio if row.speaks or not row.node else None,
    "memory": lambda row: row.memory_ratio if row.speaks or not row.node else None,
    "power": lambda row: row.power if row.speaks or not row.node else None,
    "temperature": lambda row: row.hottest if row.speaks or not row.node else None,
    "odd": lambda row: row.odd_count,
    "lemon": lambda row: row.lemon_score,
    "finding": lambda row: row.finding_rank,
}
SORTS = ("worst", "node", *[name for name in VALUES if name != "worst"])
TITLES = {
    "worst": "worst first",
    "node": "name",
    "age": "age",
    "devices": "number of devices",
    "load": "load",
    "memory": "memory in use",
    "power": "power",
    "temperature": "temperature",
    "odd": "how much differs from the others",
    "lemon": "repeated hardware faults",
    "finding": "what the detector found",
}


def _name(row: FleetRow) -> tuple[tuple[int, int | str], ...]:
    return natural(row.node or row.group)


def ordered(rows: Iterable[FleetRow], sort: str, *, descending: bool) -> list[FleetRow]:
    """By a column, then by name; what has no value comes last either way."""
    named = sorted(rows, key=_name)
    if sort == "node":
        return named[::-1] if descending else named
    value = VALUES.get(sort, VALUES["worst"])
    valued = [row for row in named if value(row) is not None]
    unknown = [row for row in named if value(row) is None]
    valued.sort(key=lambda row: value(row) or 0.0, reverse=descending)
    return valued + unknown


def grouped(rows: Iterable[FleetRow]) -> list[FleetRow]:
    """A row for each group, its nodes as members by name."""
    groups: dict[str, FleetRow] = {}
    for row in sorted(rows, key=_name):
        if row.group not in groups:
            groups[row.group] = FleetRow(row.group, "")
        groups[row.group].include(row)
    return list(groups.values())


def listed(
    groups: Iterable[FleetRow], unfolded: Collection[str], sort: str, *, descending: bool
) -> list[FleetRow]:
    """Groups in order, the nodes of those that are unfolded under them."""
    result: list[FleetRow] = []
    for group in ordered(groups, sort, descending=descending):
        result.append(group)
        if group.group in unfolded:
            result += ordered(group.members, sort, descending=descending)
    return result
