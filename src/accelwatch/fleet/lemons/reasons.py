"""Why something is blamed, and what is on record of a node, in words. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from accelwatch.base.names.hardware_keys import NODE, SLOT
from accelwatch.fleet.lemons.documents import LEAST_FAULTS, PERIOD_DAYS, Blamed
from accelwatch.schema.timestamps import timestamp

if TYPE_CHECKING:
    from accelwatch.fleet.lemons.faults import Fault


def blamed_for(keys: Sequence[str], faults: "Sequence[Fault]") -> tuple[Blamed, str]:
    """What the faults of an offender follow, and why; `keys` are its identities, narrowest first."""
    slots = list(dict.fromkeys(f"{fault.node} {fault.slot}" for fault in faults if fault.slot))
    nodes = list(dict.fromkeys(fault.node for fault in faults))
    serials = list(dict.fromkeys(fault.serial for fault in faults if fault.serial))
    if keys[0].startswith(NODE):
        return Blamed.NODE, _of_node(faults)
    if keys[0].startswith(SLOT):
        if len(serials) > 1:
            return Blamed.SLOT, f"{len(serials)} boards failed in this slot: {', '.join(serials)}"
        return Blamed.DEVICE_OR_SLOT, "always in this slot; not every fault has a serial number"
    if len(slots) > 1 or len(nodes) > 1:
        path = " -> ".join(slots if len(slots) > 1 else nodes)
        return Blamed.DEVICE, f"the faults followed the board: {path}"
    if not slots:
        return Blamed.DEVICE, "always this board; its slot is not known"
    if not all(fault.slot for fault in faults):
        return Blamed.DEVICE_OR_SLOT, "always this board; not every fault has a slot"
    return Blamed.DEVICE_OR_SLOT, "always this board in this slot; try it in another one"


def _of_node(faults: "Sequence[Fault]") -> str:
    devices = {fault.device_name or fault.device for fault in faults if fault.device}
    own = sum(not fault.device for fault in faults)
    of_devices = f"faults of {len(devices)} devices" if len(devices) > 1 else "faults of a device"
    if not devices:
        return "faults of the node itself"
    return f"{own} of the node itself, and {of_devices}" if own else of_devices


def record_of(faults: "Iterable[Fault]") -> str:
    """`3 confirmed faults in 28 days, the last on 2026-11-20; 2 of them on serial 1654922000111`."""
    by_incident = {fault.incident: fault for fault in faults}
    if len(by_incident) < LEAST_FAULTS:
        return ""
    last = max(fault.time for fault in by_incident.values())
    text = f"{len(by_incident)} confirmed faults in {PERIOD_DAYS} days, the last on"
    text = f"{text} {timestamp(last)[:10]}"
    shares: dict[str, int] = defaultdict(int)
    for fault in by_incident.values():
        if fault.device:
            shares[f"serial {fault.serial}" if fault.serial else fault.device_name] += 1
    worst = max(shares, key=lambda name: shares[name], default="")
    if not worst:
        return text
    count = shares[worst]
    share = "all" if count == len(by_incident) else f"{count} of them"
    return f"{text}; {share} on {worst}"
