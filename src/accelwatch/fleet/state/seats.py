"""Where the devices of one node stand in the table."""

from collections.abc import Sequence

from accelwatch.fleet.state.node import Node
from accelwatch.fleet.state.readings import Held
from accelwatch.fleet.table.rows import Key, Rows
from accelwatch.schema.device import Device


class Seats:
    """Rows of a node's devices, present and missing."""

    def __init__(self, node: str, number: int) -> None:
        self.node = node
        self.number = number
        """Of the node in arrays by node."""
        self.rows: list[int] = []
        """In the order of lists: by index, then id."""
        self.devices: list[Device] = []
        """The same, described."""
        self.present: list[tuple[int, Held]] = []
        """Rows of devices that are there."""
        self.labels: dict[str, str] = {}
        self.relabelled = False
        """Whether the latest arrangement found other labels."""
        self.missing = 0
        """Devices that are expected and not there."""
        self.keys: set[str] = set()
        """Ids of the devices that have a row: those that are there or expected."""
        self.shape = -1
        self.version = -1
        self.epoch = -1

    def arrange(self, node: Node, rows: Rows) -> tuple[list[int], list[int]]:
        """Take the devices as they are now; rows that others had, and rows that have become free."""
        expected = node.expected.devices if node.expected is not None else {}
        keys = dict.fromkeys((*node.devices, *expected))
        freed = [self._leave((node.name, key), rows) for key in self.keys - keys.keys()]
        others: list[int] = []
        best = node.best
        boot = best.boot_id if best is not None else ""
        self.present = []
        for key in keys:
            held = node.devices.get(key)
            device = expected[key] if held is None else held.device
            known = "" if held is None else boot
            row, other = rows.give(
                (node.name, key), (device.serial or "", device.uuid or ""), known
            )
            if other:
                others.append(row)
            if held is not None:
                self.present.append((row, held))
        labels = node.labels
        self.relabelled = labels != self.labels
        self.keys, self.labels, self.shape = set(keys), labels, node.shape
        self._order(node, rows)
        self.version = -1
        return others, freed

    def _leave(self, key: Key, rows: Rows) -> int:
        row = rows.get(key)
        assert row is not None
        rows.take_back(key)
        return row

    def _order(self, node: Node, rows: Rows) -> None:
        """Present devices and missing ones; what is there by another id is not missing."""
        shown: Sequence[Device] = [
            *(held.device for held in node.devices.values()),
            *node.missing(),
        ]
        self.devices = sorted(shown, key=lambda one: (one.index, one.id))
        found = [rows.get((node.name, one.id)) for one in self.devices]
        self.rows = [row for row in found if row is not None]
        self.missing = len(self.rows) - len(node.devices)

    def leave(self, rows: Rows) -> list[int]:
        """The node has gone; the rows that have become free."""
        return [self._leave((self.node, key), rows) for key in self.keys]
