"""Chips of another machine by what `qaic-util -q` printed there."""

from collections.abc import Iterable

from accelwatch.backend_kit.listed_process import without_processes
from accelwatch.backend_kit.remote import Outputs, Remote, RemoteCommand
from accelwatch.backend_kit.remote_tool import Location, ToolReader, prototype
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch_qualcomm import mapping
from accelwatch_qualcomm.document import IS_COMPLETE, Chip, Listing, parse

_KEY, _PROGRAM = "query", "qaic-util"


def _document(outputs: Outputs) -> Listing:
    return parse(outputs[_KEY].printed(IS_COMPLETE))


def _listed(listing: Listing) -> Iterable[tuple[Location, Chip]]:
    return ((Location(chip.number, chip.pci_bus_id), chip) for chip in listing.chips)


def _identified(device: Device, chip: Chip, _: Listing) -> Device:
    return mapping.identified(device, chip, None, None)


def _read(device: Device, chip: Chip, listing: Listing) -> Reading:
    out = mapping.collected(device.id, chip, listing.chips)
    reading = out.reading(sources={"*": _PROGRAM}, notes=mapping.notes(chip, listing.chips))
    return without_processes(reading, Absence.UNSUPPORTED)


def _reader() -> ToolReader[Listing, Chip]:
    common = prototype("qualcomm", "qaic", vendor=mapping.VENDOR)
    return ToolReader(_document, _listed, _identified, _read, provisional=common)


REMOTE = Remote(
    commands=(
        RemoteCommand(
            key=_KEY, programs=(_PROGRAM,), arguments=("-q",), folders=("/opt/qti-aic/tools",)
        ),
    ),
    reader=_reader,
    pci_vendors=("17cb",),
)
