"""Ids that one exporter gives several devices, so that they identify none of them.

A uuid of several is a fault of a driver. It shows when one family has a uuid with several PCI addresses,
or, where it has none, with several indices. These then distinguish the devices, and the devices are
marked. A PCI address of several is no fault: a card may have two chips behind one function. Their index
distinguishes them.
"""

from collections.abc import Iterable, Mapping

import msgspec

from accelwatch.exposition import Key
from accelwatch.schema.health import Health
from accelwatch.schema.snapshot import DeviceView

Ids = dict[str, str]
_ADDRESS_KINDS = ("pci", "index")


def may_be_double(reported: Iterable[Ids]) -> bool:
    """Whether any uuid comes with several addresses at all, of whichever families; `reported` of all
    labels.
    """
    addresses: dict[str, str] = {}
    return any(
        addresses.setdefault(ids["uuid"], address) != address
        for ids in reported
        if "uuid" in ids and (address := ids.get("pci") or ids.get("index"))
    )


def double_uuids(keyed: Iterable[tuple[Key, Ids]]) -> dict[str, int]:
    """Uuids of more than one device, with how many; of keys and what each says of a device's ids."""
    claims: dict[tuple[str, str, str], set[str]] = {}
    for key, ids in keyed:
        kind = next((kind for kind in _ADDRESS_KINDS if kind in ids), None)
        if "uuid" in ids and kind is not None:
            claims.setdefault((ids["uuid"], key.name, kind), set()).add(ids[kind])
    doubles: dict[str, int] = {}
    for (uuid, _, _), addresses in claims.items():
        if len(addresses) > 1:
            doubles[uuid] = max(len(addresses), doubles.get(uuid, 0))
    return doubles


def shared_addresses(keyed: Iterable[tuple[Key, Ids]]) -> frozenset[str]:
    """PCI addresses of more than one device, one of them without a uuid; of keys and their ids.

    A chip that fails may lose its uuid while the one beside it keeps its own.
    """
    indices: dict[tuple[str, str], set[str]] = {}
    without_uuid: set[tuple[str, str]] = set()
    for key, ids in keyed:
        pci, index = ids.get("pci"), ids.get("index")
        if pci is None or index is None:
            continue
        indices.setdefault((pci, key.name), set()).add(index)
        if "uuid" not in ids:
            without_uuid.add((pci, key.name))
    return frozenset(pci for pci, name in without_uuid if len(indices[pci, name]) > 1)


def by_address(ids: Ids) -> Ids:
    """The ids of a device whose uuid is no name: those that nobody shares."""
    return {kind: ids[kind] for kind in (*_ADDRESS_KINDS, "name") if kind in ids}


def with_doubts(views: Iterable[DeviceView], doubts: Mapping[str, str]) -> tuple[DeviceView, ...]:
    """The views, those of such devices no better than degraded; `doubts` are the reasons by id."""
    return tuple(
        _degraded(view, doubts[view.device.id]) if view.device.id in doubts else view
        for view in views
    )


def _degraded(view: DeviceView, reason: str) -> DeviceView:
    health = view.health if view.health is Health.FAILED else Health.DEGRADED
    reasons = (*view.health_reasons, reason)
    return msgspec.structs.replace(view, health=health, health_reasons=reasons)
