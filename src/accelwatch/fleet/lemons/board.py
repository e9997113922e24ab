"""Which nodes have a repeat offender in them now: for lists of nodes and plans of remedies."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from accelwatch.base.hardware_keys import NODE, SLOT, keys_of
from accelwatch.base.slices import LongWork
from accelwatch.fleet.lemons.documents import (
    LEAST_FAULTS,
    PERIOD_DAYS,
    Blamed,
    Lemon,
    LemonNote,
)
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.schema.timestamps import timestamp

if TYPE_CHECKING:
    from accelwatch.fleet.lemons.faults import Fault


class LemonBoard:
    """For the hub's event loop; a device that has moved takes its faults along."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._nodes = nodes
        self._notes: dict[str, LemonNote] = {}
        self._records: dict[str, str] = {}

    def of(self, node: str) -> LemonNote | None:
        """The worst repeat offender of a node; None where there is none."""
        return self._notes.get(node)

    def record_of(self, node: str) -> str:
        """A line about the faults of a node and of what is in it; empty where there are not several."""
        return self._records.get(node, "")

    async def refresh(
        self, faults: "Sequence[Fault]", lemons: Sequence[Lemon], work: LongWork
    ) -> None:
        """Have these faults, each of them once, and the offenders among them, the worst first."""
        by_key = {key: lemon for lemon in reversed(lemons) for key in lemon.keys}
        of_key: dict[str, list[Fault]] = defaultdict(list)
        for fault in faults:
            for key in fault.keys:
                of_key[key].append(fault)
        notes, records = {}, {}
        for node in list(self._nodes.values()) if of_key else []:
            names = _names_by_key(node)
            matches = [
                (by_key[key], key)
                for key in names
                if key in by_key and _is_still_there(by_key[key], key)
            ]
            if matches:
                # The name of a device comes before that of its node.
                lemon, key = max(matches, key=lambda match: (match[0].score, bool(names[match[1]])))
                notes[node.name] = _note(lemon, names[key] or lemon.device)
            record = _record(fault for key in names for fault in of_key.get(key, ()))
            if record:
                records[node.name] = record
            await work.rest()
        self._notes, self._records = notes, records


def _names_by_key(node: Node) -> dict[str, str]:
    """What a node is called, and each device in it, with the device's name; empty for the node."""
    names = dict.fromkeys(keys_of(node.name), "")
    for present in node.devices.values():
        device = present.device
        if device.parent_id is None:
            slot, serial = device.pci_bus_id or "", device.serial or ""
            for key in keys_of(node.name, slot=slot, serial=serial)[1:]:
                names[key] = device.name
    return names


def _is_still_there(lemon: Lemon, key: str) -> bool:
    """Whether what is blamed is in the node of which a device or the node itself has this key.

    The name of a node says so of the node and of its slots; a board is there by its serial number.
    """
    slots = any(other.startswith(SLOT) for other in lemon.keys)
    return not key.startswith(NODE) or lemon.blamed is Blamed.NODE or slots


def _note(lemon: Lemon, device: str) -> LemonNote:
    return LemonNote(
        blamed=lemon.blamed,
        device="" if lemon.blamed is Blamed.NODE else device,
        faults=lemon.faults,
        score=lemon.score,
        last=lemon.last,
    )


def _record(faults: "Iterable[Fault]") -> str:
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
