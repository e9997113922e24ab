"""Of which node and device somebody speaks who knows them by labels, a name, a uuid or an address."""

from collections.abc import Mapping
from typing import NamedTuple

from accelwatch.fleet.evidence_settings import Evidence
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.node import Node
from accelwatch.schema.device import Device, normal_pci_bus_id, normal_uuid


class Place(NamedTuple):
    """Whom evidence is about."""

    node: str
    device: str = ""
    """Id of the device; empty for the node."""
    name: str = ""
    """Its short name."""


def placed(fleet: Fleet, labels: Mapping[str, str], settings: Evidence) -> Place | None:
    """The node, and the device if one is named and known there; a uuid alone is enough."""
    words = [labels[one] for one in settings.device_labels if labels.get(one)]
    node = next(
        (node for one in settings.node_labels if (node := _node(fleet, labels.get(one, "")))), None
    )
    if node is None:
        return next((place for word in words if (place := _by_uuid(fleet, word))), None)
    device = next((device for word in words if (device := _device(node, word))), None)
    return Place(node.name) if device is None else Place(node.name, device.id, device.name)


def _node(fleet: Fleet, word: str) -> Node | None:
    """By its name, with or without a port; else by the address of one of its targets."""
    if not word:
        return None
    host = word.rpartition(":")[0].strip("[]") if word.rpartition(":")[2].isdigit() else word
    by_name = fleet.nodes.get(word) or fleet.nodes.get(host)
    if by_name is not None:
        return by_name
    nodes = fleet.nodes.values()
    targets = ((node, source.target) for node in nodes for source in node.sources.values())
    return next((node for node, one in targets if word in (one.address, one.instance)), None)


def _device(node: Node, word: str) -> Device | None:
    for held in node.devices.values():
        device = held.device
        if word in (device.id, device.name, str(device.index)) or _is_uuid(device, word):
            return device
        if device.pci_bus_id and normal_pci_bus_id(word) == device.pci_bus_id:
            return device
    return None


def _is_uuid(device: Device, word: str) -> bool:
    return bool(device.uuid) and normal_uuid(device.uuid or "") == normal_uuid(word)


def _by_uuid(fleet: Fleet, word: str) -> Place | None:
    for node in fleet.nodes.values():
        for held in node.devices.values():
            if _is_uuid(held.device, word):
                return Place(node.name, held.device.id, held.device.name)
    return None
