"""Of which node and device somebody speaks who knows them by labels, a name, a uuid or an address."""

from collections.abc import Mapping
from typing import NamedTuple

from accelwatch.fleet.evidence_settings import Evidence
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.schema.device import Device, normal_pci_bus_id, normal_uuid


class Location(NamedTuple):
    """Whom evidence is about."""

    node: str
    # Id of the device; empty for the node.
    device: str = ""
    # Its short name.
    name: str = ""


def locate(fleet: Fleet, labels: Mapping[str, str], settings: Evidence) -> Location | None:
    """The node, and the device if one is named and known there; a uuid alone is enough."""
    values = [labels[label] for label in settings.device_labels if labels.get(label)]
    node = next(
        (node for label in settings.node_labels if (node := _node(fleet, labels.get(label, "")))),
        None,
    )
    if node is None:
        return next((location for value in values if (location := _by_uuid(fleet, value))), None)
    device = next((device for value in values if (device := _device(node, value))), None)
    return Location(node.name) if device is None else Location(node.name, device.id, device.name)


def _node(fleet: Fleet, text: str) -> Node | None:
    """By its name, with or without a port; else by the address of one of its targets."""
    if not text:
        return None
    host = text.rpartition(":")[0].strip("[]") if text.rpartition(":")[2].isdigit() else text
    by_name = fleet.nodes.get(text) or fleet.nodes.get(host)
    if by_name is not None:
        return by_name
    nodes = fleet.nodes.values()
    targets = ((node, source.target) for node in nodes for source in node.sources.values())
    return next(
        (node for node, target in targets if text in (target.address, target.instance)), None
    )


def _device(node: Node, text: str) -> Device | None:
    for present in node.devices.values():
        device = present.device
        if text in (device.id, device.name, str(device.index)) or _is_uuid(device, text):
            return device
        if device.pci_bus_id and normal_pci_bus_id(text) == device.pci_bus_id:
            return device
    return None


def _is_uuid(device: Device, text: str) -> bool:
    return bool(device.uuid) and normal_uuid(device.uuid or "") == normal_uuid(text)


def _by_uuid(fleet: Fleet, text: str) -> Location | None:
    for node in fleet.nodes.values():
        for present in node.devices.values():
            if _is_uuid(present.device, text):
                return Location(node.name, present.device.id, present.device.name)
    return None
