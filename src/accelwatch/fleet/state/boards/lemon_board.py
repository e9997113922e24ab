"""Which nodes have a repeat offender in them now: for lists of nodes and plans of remedies."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from accelwatch.base.names.hardware_keys import NODE, SLOT, keys_of
from accelwatch.base.slices import LongWork
from accelwatch.fleet.lemons.documents import (
    Blamed,
    Lemon,
    LemonNote,
)
from accelwatch.fleet.lemons.reasons import record_of
from accelwatch.fleet.state.nodes.node import Node

if TYPE_CHECKING:
    from accelwatch.fleet.lemons.faults import Fault


class LemonBoard:
    """For the hub's event loop; the faults of a device move with it."""

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
            record = record_of(fault for key in names for fault in of_key.get(key, ()))
            if record:
                records[node.name] = record
            await work.yield_control()
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
