"""Where the devices of one node stand in the table."""

from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from accelwatch.fleet.state.nodes.devices import FleetDevice, StreamDevice
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.fleet.table.columns import Columns
from accelwatch.fleet.table.rows import Key, Rows
from accelwatch.schema.device import Device


class Alike(NamedTuple):
    """Devices of a stream that have the same layout; each has ticked."""

    columns: Columns
    # Many nodes' are put together at every tick: as bytes, not number by number.
    rows: "array[int]"
    devices: list[StreamDevice]


class NodeSlots:
    """Rows of a node's devices, present and missing."""

    def __init__(self, node: str, number: int) -> None:
        self.node = node
        # Of the node in arrays by node.
        self.number = number
        # In the order of lists: by index, then id.
        self.rows: list[int] = []
        # The same, described.
        self.devices: list[Device] = []
        # Rows of devices that are there.
        self.present: list[tuple[int, FleetDevice]] = []
        # Those of them that are only of a stream, by layout.
        self.alike: list[Alike] = []
        # The rest.
        self.others: list[tuple[int, FleetDevice]] = []
        # What `Node.noted` was when the rows' owners were last brought up to date.
        self.noted = -1
        self.labels: dict[str, str] = {}
        # Whether the latest arrangement found other labels.
        self.relabelled = False
        # Devices that are expected and not there.
        self.missing = 0
        # Ids of the devices that have a row: those that are there or expected.
        self.keys: tuple[str, ...] = ()
        self.shape = -1
        self.version = -1
        self.epoch = -1

    def arrange(self, node: Node, rows: Rows) -> tuple[list[int], list[int]]:
        """Adopt the present devices; returns rows that had another device, and freed rows."""
        expected = node.expected.devices if node.expected is not None else {}
        keys = dict.fromkeys((*node.devices, *expected))
        freed = [self._leave((node.name, key), rows) for key in self.keys if key not in keys]
        others: list[int] = []
        best = node.best
        boot = best.boot_id if best is not None else ""
        self.present = []
        for key in keys:
            present = node.devices.get(key)
            device = expected[key] if present is None else present.device
            boot_id = "" if present is None else boot
            row, other = rows.give(
                (node.name, key), (device.serial or "", device.uuid or ""), boot_id
            )
            if other:
                others.append(row)
            if present is not None:
                self.present.append((row, present))
        labels = node.labels
        self.relabelled = labels != self.labels
        self.keys, self.labels, self.shape = tuple(keys), labels, node.shape
        self.alike, self.others = _parted(self.present)
        self.noted = -1
        self._order(node, rows)
        self.version = -1
        return others, freed

    def _leave(self, key: Key, rows: Rows) -> int:
        row = rows.get(key)
        assert row is not None
        rows.release(key)
        return row

    def _order(self, node: Node, rows: Rows) -> None:
        """Present devices and missing ones; what is there by another id is not missing."""
        shown: Sequence[Device] = [
            *(present.device for present in node.devices.values()),
            *node.missing(),
        ]
        self.devices = sorted(shown, key=lambda device: (device.index, device.id))
        numbered = [rows.get((node.name, device.id)) for device in self.devices]
        self.rows = [row for row in numbered if row is not None]
        self.missing = len(self.rows) - len(node.devices)

    def leave(self, rows: Rows) -> list[int]:
        """The node has gone; the rows that have become free."""
        return [self._leave((self.node, key), rows) for key in self.keys]


def _parted(
    present: Iterable[tuple[int, FleetDevice]],
) -> tuple[list[Alike], list[tuple[int, FleetDevice]]]:
    """Devices of streams by layout, and others."""
    alike: dict[int, Alike] = {}
    others: list[tuple[int, FleetDevice]] = []
    for row, device in present:
        if isinstance(device, StreamDevice) and device.tick is not None:
            into = alike.get(id(device.columns))
            if into is None:
                into = alike[id(device.columns)] = Alike(device.columns, array("q"), [])
            into.rows.append(row)
            into.devices.append(device)
        else:
            others.append((row, device))
    return list(alike.values()), others
