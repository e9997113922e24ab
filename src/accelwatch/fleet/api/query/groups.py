"""/v1/groups: the fleet in numbers by rack, partition, job, user, or whatever else devices share."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from accelwatch.base.errors import UsageError
from accelwatch.base.slices import LongWork
from accelwatch.expr import Expression, Type, device_names
from accelwatch.expr.vocabulary.names import did_you_mean
from accelwatch.fleet.api.query.choosing import chosen, series_of, subject_at
from accelwatch.fleet.api.query.names import every
from accelwatch.fleet.api.query.rows import cursor_of
from accelwatch.fleet.api.query.totals import SUMMED, Totals, tallied
from accelwatch.fleet.documents.fleet import GroupRow, GroupsPage
from accelwatch.fleet.names import GONE, fleet_names
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.fleet_status import (
    AT_ONCE,
    FleetStatus,
    full_status,
    refresh_nodes,
    status_of,
)
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.fleet.state.rows.groups import STAGE
from accelwatch.fleet.state.rows.table import Indices
from accelwatch.fleet.table.belief import Bools
from accelwatch.fleet.table.rows import grown
from accelwatch.fleet.table.state_codes import HEALTHS, STATES
from accelwatch.schema.snapshot import OWNER_NAMES
from accelwatch.schema.status.device_status import WORST_FIRST, effective_state

# Labels that a request may name though no target has them.
_USUAL = ("rack", "pool", STAGE)
# What changes without a change of devices, labels or owners.
_OF_NOW = frozenset({"state", "health", "node_state"})
# How bad a device is by its state and its health, worst first.
_RANK = np.array(
    [[WORST_FIRST.index(effective_state(state, health)) for health in HEALTHS] for state in STATES],
    dtype=np.intp,
)


def check_grouping(by: str, labels: Iterable[str]) -> None:
    """Raise UsageError for what devices cannot be grouped by."""
    names = [name for name, kind in fleet_names(labels).identity.items() if kind is Type.STRING]
    if by not in names and by not in _USUAL:
        hint = did_you_mean(by, names) or "try rack, partition, job or user"
        raise UsageError(f"by: no name {by[:60]!r}; {hint}")


def page_of(
    by: str, rows: Iterable[GroupRow], limit: int, after: str | None, problems: tuple[str, ...] = ()
) -> GroupsPage:
    """The groups that come after a name, as many as are wanted, and the cursor of the next page."""
    left = [row for row in rows if after is None or row.group is None or row.group > after]
    shown = tuple(left[:limit])
    following = cursor_of((shown[-1].group or "", 0, "")) if len(left) > limit else None
    return GroupsPage(by=by, groups=shown, next=following, problems=problems)


async def groups(
    fleet: Fleet, by: str, expression: Expression | None, walk: LongWork
) -> list[GroupRow]:
    """Every group, by name, that of devices without one last.

    A device that several own is counted in the group of each.
    """
    nodes = await refresh_nodes(fleet, [*SUMMED, *series_of(expression)], walk.yield_control)
    grouping = await _grouping(fleet, by, nodes, walk)
    kept = await _filter_mask(fleet, nodes, expression, walk)
    now, table = await full_status(fleet, nodes, walk.yield_control), fleet.table
    positions: Indices = np.full(table.rows.size, -1, dtype=np.intp)
    positions[now.rows] = np.arange(len(now.rows))
    at = positions[grouping.rows]
    counted = (at >= 0) & kept[grouping.rows]
    at, group = at[counted], grouping.groups[counted]
    names, states, worst = (
        list(grouping.names),
        _states(fleet, now, at, group),
        _worst(now, at, group),
    )
    totals = tallied(table, now, at, group, len(names))
    rows = {
        name: _Group(totals[code], states[code], worst[code])
        for code, name in enumerate(names)
        if code in states
    }
    if expression is None:
        _add_bare(fleet, nodes, by, rows)
    return [rows[name].row(name) for name in sorted(rows, key=_order)]


class _Group:
    """One group in numbers."""

    def __init__(self, totals: Totals, nodes: dict[str, str], worst: int) -> None:
        self.totals = totals
        # State by name.
        self.nodes = nodes
        self.worst = worst

    def row(self, name: str | None) -> GroupRow:
        """As the API returns it."""
        nodes = Counter(self.nodes.values())
        return GroupRow(
            group=name,
            nodes_total=len(self.nodes),
            nodes=dict(sorted(nodes.items())),
            worst=WORST_FIRST[self.worst],
            **self.totals.numbers(),
        )


class Grouping(NamedTuple):
    """Rows and the group of each; a device that several own has several."""

    # What changes and shape of the table were.
    stamp: tuple[int, int]
    rows: Indices
    groups: Indices
    names: tuple[str | None, ...]


async def _grouping(fleet: Fleet, by: str, nodes: Sequence[Node], walk: LongWork) -> Grouping:
    """The groups of all devices, worked out again when devices, labels or owners have changed."""
    table = fleet.table
    stamp = table.changes, table.shape
    cached = table.groupings.get(by)
    if isinstance(cached, Grouping) and cached.stamp == stamp:
        return cached
    numbers: dict[str | None, int] = {}
    rows: list[int] = []
    groups: list[int] = []
    for node in nodes:
        await walk.yield_control()
        for row, names in _counted(fleet, node, by):
            for name in names or (None,):
                rows.append(row)
                groups.append(numbers.setdefault(name, len(numbers)))
    grouping = Grouping(
        stamp, np.array(rows, dtype=np.intp), np.array(groups, dtype=np.intp), tuple(numbers)
    )
    if by not in _OF_NOW:
        table.groupings[by] = grouping
    return grouping


async def _filter_mask(
    fleet: Fleet, nodes: Sequence[Node], expression: Expression | None, walk: LongWork
) -> Bools:
    """By row, what the filter lets through."""
    size = fleet.table.rows.size
    if expression is None:
        return np.ones(size, dtype=np.bool_)
    mask = np.zeros(size, dtype=np.bool_)
    for at in range(0, len(nodes), AT_ONCE):
        await walk.yield_control()
        now = status_of(fleet, nodes[at : at + AT_ONCE])
        mask = grown(mask, fleet.table.rows.size, 0)
        mask[now.rows] = chosen(fleet, now, expression)
    return grown(mask, fleet.table.rows.size, 0)


def _states(
    fleet: Fleet, now: FleetStatus, at: Indices, group: Indices
) -> dict[int, dict[str, str]]:
    """The nodes of each group that has devices, and how fresh they are."""
    slots = fleet.table.at_number
    pairs = np.unique(group * len(slots) + fleet.table.node[now.rows[at]])
    by_group: defaultdict[int, dict[str, str]] = defaultdict(dict)
    for pair in pairs.tolist():
        name = slots[pair % len(slots)].node
        node = fleet.nodes.get(name)
        if node is not None:  # it may have been forgotten while the others were counted
            by_group[pair // len(slots)][name] = fleet.state_of(node).value
    return by_group


def _worst(now: FleetStatus, at: Indices, group: Indices) -> list[int]:
    """The worst state of each group, as an index into the order."""
    rank = _RANK[now.state[at], now.health[at]]
    ranks = np.full(int(group.max(initial=-1)) + 1, len(WORST_FIRST) - 1, dtype=np.intp)
    np.minimum.at(ranks, group, rank)
    worst: list[int] = ranks.tolist()
    return worst


def _add_bare(fleet: Fleet, nodes: Iterable[Node], by: str, rows: dict[str | None, _Group]) -> None:
    """Nodes of which no device is known."""
    for node in nodes:
        slots = fleet.table.slots_of(node.name)
        if slots is not None and slots.rows:
            continue
        state = fleet.state_of(node)
        for name in _of_node(fleet, node, by):
            group = rows.setdefault(name, _Group(Totals(), {}, len(WORST_FIRST) - 1))
            group.nodes[node.name] = state.value
            group.worst = min(group.worst, WORST_FIRST.index(GONE.get(state, "ok")))


def _order(name: str | None) -> tuple[bool, str]:
    return name is None, name or ""


def _of_node(fleet: Fleet, node: Node, by: str) -> Sequence[str | None]:
    """Groups of a node of which no device is known: by its own names, by labels."""
    own = {"node": node.name, "host": node.name, "node_state": fleet.state_of(node).value}
    name = own.get(by) or node.labels.get(by)
    of_devices = by in OWNER_NAMES or by in device_names().identity
    return () if name is None and of_devices else (name,)


def _counted(fleet: Fleet, node: Node, by: str) -> Iterator[tuple[int, Sequence[str]]]:
    """Whole devices with their groups; by an owner, partitions instead of a device that has some."""
    now = status_of(fleet, [node])
    subjects = [subject_at(fleet, now, at) for at in range(len(now.rows))]
    owned = by in OWNER_NAMES or by == "partition"
    split = {member.device.parent_id for member in subjects} - {None} if owned else set()
    parents = {
        member.device.id: every(member, by) for member in subjects if member.device.id in split
    }
    for row, subject in zip(now.rows.tolist(), subjects, strict=True):
        parent = subject.device.parent_id
        if subject.device.id in split or (parent is not None and not owned):
            continue
        names = every(subject, by)
        yield row, names or parents.get(parent or "", ())
