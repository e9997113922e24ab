"""What a hub that had followed the simulated fleet from its beginning would know of it.

A hub that begins beside faults which have been there for a while would else say of silent nodes that
they had never answered, and nothing of their devices.
"""

from pathlib import Path

from accelwatch.fleet.state.inventory.file import Changes, Expected, InventoryFile
from accelwatch_lab.scenario.faults import NODE_KINDS
from accelwatch_lab.simulator.fleet import Fleet
from accelwatch_lab.simulator.nodes import Node


def write_inventory(fleet: Fleet, folder: Path) -> None:
    """Write all nodes with their devices, each as last reported. Raises InventoryError."""
    changes = Changes()
    for node in fleet.nodes:
        last_seen = fleet.start + _silent_since_s(fleet, node)
        changes.updated[node.name] = Expected(first_seen=fleet.start, last_seen=last_seen)
        changes.added += [(node.name, unit.device, fleet.start) for unit in node.units]
    file = InventoryFile(folder)
    try:
        file.write(changes)
    finally:
        file.close()


def _silent_since_s(fleet: Fleet, node: Node) -> float:
    """Seconds of the scenario, which has just started: below 0 for a node that is silent already."""
    if fleet.condition(node, fleet.instant_at(0.0)).refusal is None:
        return 0.0
    since = [
        now.since_s
        for fault in fleet.scenario.faults
        if node.name in fault.nodes and fault.spec.kind in NODE_KINDS
        if (now := fault.state_at(0.0)) is not None and now.active
    ]
    return min(since, default=0.0)
