"""Which nodes differ from the many alike at this moment: for lists of nodes, rules and `why`."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from accelwatch.base.slices import LongWork
from accelwatch.fleet.odd.documents import Deviation
from accelwatch.fleet.state.boards.odd_comparing import (
    USUAL_LABEL,
    Kind,
    Observation,
    differences,
    observations_of,
)
from accelwatch.fleet.state.nodes.devices import ReadDevice
from accelwatch.fleet.state.nodes.node import Node

# Of the nodes that are compared, no more may have a value for it to be odd; one node always is. While
# an update is rolled out, the nodes that have it are no oddity, nor are those that still wait for it.
FEW = 0.25
# Of one node: a node may report any number.
MOST_DEVIATIONS = 16
# Fields that people set differently on purpose.
CHOSEN = frozenset({"partition_mode"})


class _Snapshot(NamedTuple):
    """A node as it was at the last comparison."""

    shape: int
    # The reports of its sources besides its devices; the same objects while these are the same.
    reported: tuple[object, ...]
    observations: list[Observation]


class OddBoard:
    """For the hub's event loop."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._nodes = nodes
        self._snapshots: dict[str, _Snapshot] = {}
        self._deviations: dict[str, tuple[Deviation, ...]] = {}
        # Grows when a node differs in other things than before.
        self.version = 0

    def of(self, node: str) -> tuple[Deviation, ...]:
        """In what a node differed at the last comparison."""
        return self._deviations.get(node, ())

    async def refresh(self, work: LongWork) -> None:
        """Read the nodes that have changed since, and compare all again if one reports another value."""
        before, snapshots = self._snapshots, {}
        for node in list(self._nodes.values()):
            snapshots[node.name] = _snapshot(node, before.get(node.name))
            await work.yield_control()
        # No await from here on: several callers may compare at the same time.
        before, self._snapshots = self._snapshots, snapshots
        if before.keys() == snapshots.keys() and all(
            before[name].observations == snapshot.observations
            for name, snapshot in snapshots.items()
        ):
            return
        deviations = deviations_of(snapshot.observations for snapshot in snapshots.values())
        self.version += deviations != self._deviations
        self._deviations = deviations


def _snapshot(node: Node, before: _Snapshot | None) -> _Snapshot:
    reported = tuple(_reported(node))
    if before is not None and before.shape == node.shape and _same(before.reported, reported):
        return before
    return _Snapshot(node.shape, reported, observations_of(node, USUAL_LABEL))


def _reported(node: Node) -> Iterator[object]:
    """A stream makes another host when it sends other series, a poll replaces it each time."""
    for source in node.sources.values():
        yield source.host.view if isinstance(source.host, ReadDevice) else source.host
        yield source.version
        yield source.host_name


def _same(before: tuple[object, ...], now: tuple[object, ...]) -> bool:
    return len(before) == len(now) and all(a is b for a, b in zip(before, now, strict=True))


def deviations_of(observed: Iterable[Iterable[Observation]]) -> dict[str, tuple[Deviation, ...]]:
    """By node, in what it differs from the many where few do."""
    observations = list(itertools.chain.from_iterable(observed))
    deviations: dict[str, list[Deviation]] = defaultdict(list)
    few = [
        (difference, odd)
        for difference in differences(observations)
        if difference.usual is not None and difference.field not in CHOSEN
        for odd in difference.odd
        if len(odd.nodes) <= max(1, FEW * difference.nodes)
    ]
    devices = _devices_that_differ(observations) if few else {}
    for difference, odd in few:
        kind = Kind(difference.group, difference.label, difference.field)
        for node in odd.nodes:
            if len(deviations[node]) >= MOST_DEVIATIONS:
                continue
            deviations[node].append(
                Deviation(
                    field=difference.field,
                    value=odd.value,
                    devices=devices.get((kind, node), {}).get(odd.value, ()),
                    usual=difference.usual or "",
                    usual_nodes=difference.usual_nodes,
                    nodes=difference.nodes,
                )
            )
    return {node: tuple(of_node) for node, of_node in deviations.items()}


def _devices_that_differ(
    observations: Iterable[Observation],
) -> dict[tuple[Kind, str], dict[str, tuple[str, ...]]]:
    """The devices of each value, on the nodes whose devices do not have the same one."""
    values: dict[tuple[Kind, str], dict[str, tuple[str, ...]]] = defaultdict(dict)
    for kind, value, node, devices in observations:
        values[kind, node][value] = devices
    return {key: of_value for key, of_value in values.items() if len(of_value) > 1}
