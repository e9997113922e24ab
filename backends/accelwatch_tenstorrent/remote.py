"""Chips of another machine by the snapshot that `tt-smi -s` printed there."""

from collections.abc import Iterable

import msgspec

from accelwatch.backend_kit.listed_process import without_processes
from accelwatch.backend_kit.remote import Outputs, Remote, RemoteCommand
from accelwatch.backend_kit.remote_tool import Location, ToolReader, prototype
from accelwatch.base.absence import Absence
from accelwatch.processes.complete_output import parsed
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch_tenstorrent import mapping, registers
from accelwatch_tenstorrent.snapshot import Chip, Snapshot, parse

_KEY, _PROGRAM = "snapshot", "tt-smi"


def _document(outputs: Outputs) -> Snapshot:
    return parse(outputs[_KEY].printed(parsed(parse, lambda snapshot: snapshot.chips)))


def _listed(snapshot: Snapshot) -> Iterable[tuple[Location, Chip]]:
    """Numbers as tt-smi counts: a remote chip is on no bus."""
    return ((Location(number, chip.pci_bus_id), chip) for number, chip in enumerate(snapshot.chips))


def _identified(device: Device, chip: Chip, snapshot: Snapshot) -> Device:
    named = mapping.identified_by_tool(device, chip, None)
    return msgspec.structs.replace(named, driver_version=snapshot.driver_version)


def _read(device: Device, chip: Chip, _: Snapshot) -> Reading:
    """Whether its heart beats, a single snapshot cannot tell."""
    out = mapping.of_tool(device.id, chip)
    beat = registers.heartbeat(chip)
    unknown = Absence.UNSUPPORTED if beat is None else Absence.NOT_COLLECTED
    mapping.record_health(out, mapping.signs_of(chip, None), unknown)
    return without_processes(out.reading(sources={"*": _PROGRAM}), Absence.UNSUPPORTED)


def _reader() -> ToolReader[Snapshot, Chip]:
    common = prototype("tenstorrent", "tt", vendor=mapping.VENDOR)
    return ToolReader(_document, _listed, _identified, _read, provisional=common)


REMOTE = Remote(
    commands=(RemoteCommand(key=_KEY, programs=(_PROGRAM,), arguments=("-s",), timeout_s=20.0),),
    reader=_reader,
    pci_vendors=("1e52",),
)
