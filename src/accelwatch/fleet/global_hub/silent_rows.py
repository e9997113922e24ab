"""Rows of nodes and devices of a hub that does not answer, from the picture that it gave last. Pure."""

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import islice

from accelwatch.fleet.documents.fleet import DeviceRow, FaultNote, NodeSummary, TargetNote
from accelwatch.fleet.hub_client.several.hub_picture import HubPicture
from accelwatch.fleet.hub_client.several.names.locations import labelled
from accelwatch.fleet.hub_client.several.names.shared_nodes import Ownership
from accelwatch.fleet.picture.model import FIELDS
from accelwatch.fleet.wire import DeviceIdentity, DeviceSlot
from accelwatch.schema.timestamps import timestamp_or_none

# Of why a node's values are not of now, in its targets.
_REASON = "hub"
_IDENTITY = DeviceIdentity.__struct_fields__


def node_rows(
    hub: int,
    picture: HubPicture,
    owner: Ownership,
    fault: str,
    now: float,
    *,
    states: Collection[str],
    start: int = 0,
) -> Iterator[NodeSummary]:
    """The nodes that a hub spoke for, as they count now; what only the hub knows is null.

    Of these states, or all without any; without the first `start` of them.
    """
    view, name = picture.view, owner.hubs[hub]
    devices = Counter(slot.node for slot in _unpartitioned(picture))
    chosen = (
        node
        for node in view.nodes
        if node.node not in owner.hidden[hub] and (not states or picture.node_state(node) in states)
    )
    for own in islice(chosen, start, None):
        node = picture.node(own, owner.name_of(hub, own.node), name)
        count = devices[own.node]
        yield NodeSummary(
            node=node.node,
            state=node.state,
            age_s=node.age_s,
            labels=labelled(
                dict(view.node_labels.get(own.node, {})), owner.hub_label(hub, own.node)
            ),
            devices=max(count - node.devices_missing, 0),
            devices_expected=count,
            devices_missing=node.devices_missing,
            clock_skew_s=None,
            interval_s=None,
            listed=True,
            acknowledged=False,
            first_seen=None,
            last_seen=timestamp_or_none(0.0 if node.age_s is None else now - node.age_s),
            targets=(_target(name, fault),),
            odd=node.odd,
            lemon=node.lemon,
            finding=node.finding,
        )


def device_rows(
    hub: int, picture: HubPicture, owner: Ownership, fields: tuple[str, ...], *, start: int = 0
) -> Iterator[DeviceRow]:
    """The same of devices; a field that the picture does not have is null."""
    view = picture.view
    states = {node.node: picture.node_state(node) for node in view.nodes}
    columns = {name: FIELDS.index(name) for name in fields if name in FIELDS}
    chosen = (
        (device, slot)
        for device in view.devices
        if (slot := view.slots[device.slot]) is not None and slot.node not in owner.hidden[hub]
    )
    for own, slot in islice(chosen, start, None):
        device = picture.device(own, own.slot)
        identity = {name: getattr(slot, name) for name in _IDENTITY}
        identity["node"] = owner.name_of(hub, slot.node)
        identity["labels"] = labelled(slot.labels, owner.hub_label(hub, slot.node))
        yield DeviceRow(
            **identity,
            node_state=states.get(slot.node, "never"),
            pci_bus_id=None,
            state=device.state,
            health=device.health if not picture.silent else "unknown",
            sample_age_s=device.sample_age_s,
            values={
                name: device.values[columns[name]] if name in columns else None for name in fields
            },
        )


def _unpartitioned(picture: HubPicture) -> Iterator[DeviceSlot]:
    """The devices that are no partitions of others."""
    for device in picture.view.devices:
        slot = picture.view.slots[device.slot]
        if slot is not None and slot.parent_id is None:
            yield slot


def _target(hub: str, fault: str) -> TargetNote:
    message = f"hub {hub} does not answer: {fault}"
    return TargetNote(
        address=f"hub {hub}",
        mode="",
        dialect="",
        version="",
        connected=False,
        failures_total=0,
        missed_ticks_total=0,
        restarts_total=0,
        fault=FaultNote(reason=_REASON, message=message),
    )
