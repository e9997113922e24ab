"""Chips of another machine by what `qaic-util -q` printed there."""

from accelwatch.backend.kit.listed_process import without_processes
from accelwatch.backend.kit.remote import Outputs
from accelwatch.backend.kit.remote_tool import remote_tool
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch_qualcomm import mapping
from accelwatch_qualcomm.backend import QualcommBackend
from accelwatch_qualcomm.document import IS_COMPLETE, Chip, Listing, parse

_KEY = "query"
_COMMAND = QualcommBackend.command


def _document(outputs: Outputs) -> Listing:
    return parse(outputs[_KEY].printed(IS_COMPLETE))


def _identified(device: Device, chip: Chip, _: Listing) -> Device:
    return mapping.identified(device, chip, None, None)


def _read(device: Device, chip: Chip, listing: Listing) -> Reading:
    out = mapping.collected(device.id, chip, listing.chips)
    reading = out.reading(
        sources={"*": _COMMAND.names[0]}, notes=mapping.notes(chip, listing.chips)
    )
    return without_processes(reading, Absence.UNSUPPORTED)


REMOTE = remote_tool(
    "qualcomm",
    vendor=mapping.VENDOR,
    prefix=_COMMAND.prefix,
    vendor_id=_COMMAND.vendor_id,
    commands=(_COMMAND.remote(_KEY, "-q"),),
    document=_document,
    listed=lambda listing: listing.chips,
    identified=_identified,
    read=_read,
)
