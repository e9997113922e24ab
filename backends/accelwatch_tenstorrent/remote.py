"""Chips of another machine by the snapshot that `tt-smi -s` printed there."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from accelwatch.backend.kit.listed_process import without_processes
from accelwatch.backend.kit.remote import Outputs, RemoteCommand
from accelwatch.backend.kit.remote_tool import remote_tool
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch.system.processes.complete_output import parsed
from accelwatch_tenstorrent import mapping, registers
from accelwatch_tenstorrent.snapshot import Chip, Snapshot, parse

_KEY, _PROGRAM = "snapshot", "tt-smi"


def _document(outputs: Outputs) -> Snapshot:
    return parse(outputs[_KEY].printed(parsed(parse, lambda snapshot: snapshot.chips)))


class _Numbered(NamedTuple):
    """A chip by the number that tt-smi counts: a remote one is on no bus."""

    number: int
    pci_bus_id: str | None
    chip: Chip


def _listed(snapshot: Snapshot) -> Iterable[_Numbered]:
    return (_Numbered(number, chip.pci_bus_id, chip) for number, chip in enumerate(snapshot.chips))


def _identified(device: Device, entry: _Numbered, snapshot: Snapshot) -> Device:
    named = mapping.identified_by_tool(device, entry.chip, None)
    return msgspec.structs.replace(named, driver_version=snapshot.driver_version)


def _read(device: Device, entry: _Numbered, _: Snapshot) -> Reading:
    """A single snapshot cannot show whether its heart beats."""
    chip = entry.chip
    out = mapping.of_tool(device.id, chip)
    beat = registers.heartbeat(chip)
    unknown = Absence.UNSUPPORTED if beat is None else Absence.NOT_COLLECTED
    mapping.record_health(out, mapping.signs_of(chip, None), unknown)
    return without_processes(out.reading(sources={"*": _PROGRAM}), Absence.UNSUPPORTED)


REMOTE = remote_tool(
    "tenstorrent",
    vendor=mapping.VENDOR,
    prefix="tt",
    vendor_id=0x1E52,
    commands=(RemoteCommand(key=_KEY, programs=(_PROGRAM,), arguments=("-s",), timeout_s=20.0),),
    document=_document,
    listed=_listed,
    identified=_identified,
    read=_read,
)
