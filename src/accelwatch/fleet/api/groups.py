"""/v1/groups: the fleet in numbers by rack, partition, job, user, or whatever else devices share."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from accelwatch.errors import UsageError
from accelwatch.expr import Expression, Type, device_names
from accelwatch.expr.names import did_you_mean
from accelwatch.fleet.api.documents import GroupRow
from accelwatch.fleet.api.names import Subject, every, lookup
from accelwatch.fleet.api.rows import Totals, release, subjects
from accelwatch.fleet.api.turns import Walk
from accelwatch.fleet.names import GONE, OWNER_NAMES, NodeState, fleet_names
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.node import Node
from accelwatch.schema.standing import WORST_FIRST, standing

_USUAL = ("rack", "pool")
"""Labels that may be asked for though no target has them."""


def check_grouping(by: str, labels: Iterable[str]) -> None:
    """Raise UsageError for what devices cannot be grouped by."""
    names = [name for name, kind in fleet_names(labels).identity.items() if kind is Type.STRING]
    if by not in names and by not in _USUAL:
        hint = did_you_mean(by, names) or "try rack, partition, job or user"
        raise UsageError(f"by: no name {by[:60]!r}; {hint}")


class _Group:
    """One group while it is counted."""

    def __init__(self) -> None:
        self.totals = Totals()
        self.nodes: dict[str, str] = {}
        """State by name."""
        self.worst = len(WORST_FIRST) - 1

    def add(self, subject: Subject) -> None:
        self.totals.add(subject)
        self.nodes[subject.node] = subject.node_state.value
        word = standing(subject.state, subject.health)
        self.worst = min(self.worst, WORST_FIRST.index(word))

    def add_bare(self, node: str, state: NodeState) -> None:
        self.nodes[node] = state.value
        self.worst = min(self.worst, WORST_FIRST.index(GONE.get(state, "ok")))

    def row(self, name: str | None) -> GroupRow:
        nodes = Counter(self.nodes.values())
        return GroupRow(
            group=name,
            nodes_total=len(self.nodes),
            nodes=dict(sorted(nodes.items())),
            worst=WORST_FIRST[self.worst],
            **self.totals.numbers(),
        )


async def groups(fleet: Fleet, by: str, wanted: Expression | None, walk: Walk) -> list[GroupRow]:
    """Every group, by name, that of devices without one last.

    A device that several own is counted in the group of each.
    """
    found: defaultdict[str | None, _Group] = defaultdict(_Group)
    for node in list(fleet.nodes.values()):
        await walk.rest()
        if wanted is None and not node.devices and not any(node.missing()):
            for name in _of_node(fleet, node, by):
                found[name].add_bare(node.name, fleet.state_of(node))
        for subject, names in _counted(fleet, node, by):
            if wanted is None or wanted.evaluate(lookup(subject)) is True:
                for name in names or (None,):
                    found[name].add(subject)
        release(node)
    return [found[name].row(name) for name in sorted(found, key=_order)]


def _order(name: str | None) -> tuple[bool, str]:
    return name is None, name or ""


def _of_node(fleet: Fleet, node: Node, by: str) -> Sequence[str | None]:
    """Groups of a node of which no device is known: by its own names, by labels."""
    own = {"node": node.name, "host": node.name, "node_state": fleet.state_of(node).value}
    name = own.get(by) or node.labels.get(by)
    of_devices = by in OWNER_NAMES or by in device_names().identity
    return () if name is None and of_devices else (name,)


def _counted(fleet: Fleet, node: Node, by: str) -> Iterator[tuple[Subject, Sequence[str]]]:
    """Whole devices with their groups; by an owner, partitions in place of a device that has some."""
    held = subjects(fleet, node)
    owned = by in OWNER_NAMES or by == "partition"
    split = {one.device.parent_id for one in held} - {None} if owned else set()
    parents = {one.device.id: every(one, by) for one in held if one.device.id in split}
    for subject in held:
        parent = subject.device.parent_id
        if subject.device.id in split or (parent is not None and not owned):
            continue
        names = every(subject, by)
        yield subject, names or parents.get(parent or "", ())
