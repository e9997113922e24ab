"""What people call the devices of a node, which the detector knows by their ids."""

from accelwatch.fleet.state.fleet import Fleet


def names_of(fleet: Fleet, node: str) -> dict[str, str]:
    """`nvidia3` by id, of the devices of a node."""
    slots = fleet.table.slots_of(node)
    rows = () if slots is None else slots.rows
    devices = [fleet.table.devices[row] for row in rows]
    return {device.id: device.name for device in devices if device is not None}
