"""Which nodes differ from the many alike at this moment: for lists of nodes, rules and `why`."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from accelwatch.base.slices import LongWork
from accelwatch.fleet.odd.comparing import USUAL_LABEL, Kind, Seen, differences, seen_on
from accelwatch.fleet.odd.documents import OddMark
from accelwatch.fleet.state.devices import ReadDevice
from accelwatch.fleet.state.node import Node

FEW = 0.25
"""Of the nodes that are compared, no more may have a value for it to be odd; one node always is. While
an update is rolled out, the nodes that have it are no oddity, nor are those that still wait for it."""
MOST_MARKS = 16
"""Of one node: it may tell of itself what it likes."""
CHOSEN = frozenset({"partition_mode"})
"""Fields that people set differently on purpose."""


class _Look(NamedTuple):
    """A node as it was when it was looked at."""

    shape: int
    told: tuple[object, ...]
    """What its sources said of it besides its devices; the same objects while that is the same."""
    seen: list[Seen]


class OddBoard:
    """For the hub's event loop."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._nodes = nodes
        self._looks: dict[str, _Look] = {}
        self._marks: dict[str, tuple[OddMark, ...]] = {}
        self.version = 0
        """Grows when a node differs in other things than before."""

    def of(self, node: str) -> tuple[OddMark, ...]:
        """In what a node differed when it was looked at last."""
        return self._marks.get(node, ())

    async def bring(self, work: LongWork) -> None:
        """Look at the nodes that have changed since, and compare all again if one says another thing."""
        before, looks = self._looks, {}
        for node in list(self._nodes.values()):
            looks[node.name] = _look(node, before.get(node.name))
            await work.rest()
        # Nobody else may come between from here on: several may be looking at the same time.
        before, self._looks = self._looks, looks
        if before.keys() == looks.keys() and all(
            before[name].seen == look.seen for name, look in looks.items()
        ):
            return
        marks = marks_of(look.seen for look in looks.values())
        self.version += marks != self._marks
        self._marks = marks


def _look(node: Node, before: _Look | None) -> _Look:
    told = tuple(_told(node))
    if before is not None and before.shape == node.shape and _same(before.told, told):
        return before
    return _Look(node.shape, told, seen_on(node, USUAL_LABEL))


def _told(node: Node) -> Iterator[object]:
    """A stream makes another host when it tells other series, a poll tells all of it each time."""
    for source in node.sources.values():
        yield source.host.view if isinstance(source.host, ReadDevice) else source.host
        yield source.version
        yield source.host_name


def _same(before: tuple[object, ...], now: tuple[object, ...]) -> bool:
    return len(before) == len(now) and all(a is b for a, b in zip(before, now, strict=True))


def marks_of(looked: Iterable[Iterable[Seen]]) -> dict[str, tuple[OddMark, ...]]:
    """By node, in what it differs from the many where few do."""
    seen = list(itertools.chain.from_iterable(looked))
    marks: dict[str, list[OddMark]] = defaultdict(list)
    few = [
        (difference, odd)
        for difference in differences(seen)
        if difference.usual is not None and difference.field not in CHOSEN
        for odd in difference.odd
        if len(odd.nodes) <= max(1, FEW * difference.nodes)
    ]
    devices = _devices_that_differ(seen) if few else {}
    for difference, odd in few:
        kind = Kind(difference.group, difference.label, difference.field)
        for node in odd.nodes:
            if len(marks[node]) >= MOST_MARKS:
                continue
            marks[node].append(
                OddMark(
                    field=difference.field,
                    value=odd.value,
                    devices=devices.get((kind, node), {}).get(odd.value, ()),
                    usual=difference.usual or "",
                    usual_nodes=difference.usual_nodes,
                    nodes=difference.nodes,
                )
            )
    return {node: tuple(of_node) for node, of_node in marks.items()}


def _devices_that_differ(
    seen: Iterable[Seen],
) -> dict[tuple[Kind, str], dict[str, tuple[str, ...]]]:
    """The devices of each value, on the nodes whose devices do not have the same one."""
    values: dict[tuple[Kind, str], dict[str, tuple[str, ...]]] = defaultdict(dict)
    for kind, value, node, devices in seen:
        values[kind, node][value] = devices
    return {place: of_value for place, of_value in values.items() if len(of_value) > 1}
