"""Which nodes and devices are expected, and what of it the inventory has to keep."""

from collections.abc import Callable
from pathlib import Path

from accelwatch.base.clock import Clock
from accelwatch.base.errors import UnmetError
from accelwatch.fleet.state.inventory.file import Expected
from accelwatch.fleet.state.inventory.writer import InventoryWriter
from accelwatch.fleet.state.nodes.listed_devices import not_listed
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.schema.device import Device

# How often it is written down that a node is still there.
_LAST_SEEN_EVERY_S = 60.0
# Nodes up to which each new one is expected: names that change all the time must not stay.
MAX_NODES = 100_000
# Devices expected of one node; one whose ids change all the time must not fill the disk.
_MAX_EXPECTED = 1024


class ExpectedNodes:
    """For the loop of a hub; what changes waits in the inventory until that is written."""

    def __init__(
        self, clock: Clock, state_dir: Path | None, is_down: Callable[[Node], bool]
    ) -> None:
        """An inventory that cannot be read or written is reported in its `problems`."""
        self._clock = clock
        self._is_down = is_down
        self.inventory = InventoryWriter(state_dir)

    def update(self, node: Node, expected: Expected) -> None:
        """What is expected of a node has changed."""
        self.inventory.changes.updated[node.name] = expected

    def expect(self, node: Node, nodes: int) -> None:
        """Expect the devices that are there from now on; `nodes` is how many nodes there are."""
        if not any(source.arrived is not None for source in node.sources.values()):
            return
        wall = self._clock.wall()
        if node.expected is None:
            if nodes > MAX_NODES:
                return
            node.expected = Expected(first_seen=wall, last_seen=wall)
            self.update(node, node.expected)
        node.shape += 1
        for key, present in node.devices.items():
            if key not in node.expected.devices and len(node.expected.devices) < _MAX_EXPECTED:
                node.expected.devices[key] = present.device
                self.inventory.changes.added.append((node.name, present.device, wall))

    def update_last_seen(self, node: Node, wall: float) -> None:
        """It reported at `wall`; an older time from a store does not revoke an acknowledgement."""
        expected = node.expected
        if expected is None:
            return
        is_back = expected.acknowledged is not None and (
            wall > expected.acknowledged or not self._is_down(node)
        )
        if is_back or abs(wall - expected.last_seen) > _LAST_SEEN_EVERY_S:
            expected.last_seen = wall
            expected.acknowledged = None if is_back else expected.acknowledged
            self.update(node, expected)

    def acknowledge(self, node: Node, device_id: str | None) -> int:
        """Expect missing devices no longer, one or all; returns how many. Raises UnmetError."""
        missing = (
            missing_devices(node)
            if device_id is None
            else [*missing_devices(node), *not_listed(node)]
        )
        acknowledged = [device for device in missing if device_id in (None, device.id)]
        if device_id is not None and not acknowledged:
            raise UnmetError(f"no device {device_id[:100]!r} is missing on {node.name}")
        if node.expected is not None:
            changes = self.inventory.changes
            for device in acknowledged:
                del node.expected.devices[device.id]
                changes.removed.append((node.name, device.id))
            node.shape += 1
            changes.drop_removed()
            if device_id is None and self._is_down(node):
                node.expected.acknowledged = self._clock.wall()
                self.update(node, node.expected)
        return len(acknowledged)

    def forget(self, node: Node) -> int:
        """Expect a node no longer; returns how many devices were expected of it."""
        changes = self.inventory.changes
        changes.updated.pop(node.name, None)
        changes.added = [added for added in changes.added if added[0] != node.name]
        changes.forgotten.append(node.name)
        return len(node.expected.devices) if node.expected is not None else 0


def missing_devices(node: Node) -> list[Device]:
    """Expected devices that a reporting node does not have; of a silent node none."""
    return list(node.missing()) if node.best is not None else []


def merge_expected(node: Node, kept: Expected) -> None:
    """Expect of a node what an inventory keeps as well, which could not be read before."""
    if node.expected is None:
        node.expected = kept
    else:
        node.expected.devices = {**kept.devices, **node.expected.devices}
        node.expected.listing = node.expected.listing or kept.listing
    node.shape += 1
