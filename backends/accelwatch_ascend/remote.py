"""NPUs of another machine by the table that `npu-smi info` printed there."""

from collections.abc import Iterable

import msgspec

from accelwatch.backend_kit.remote import Outputs, Remote, RemoteCommand
from accelwatch.backend_kit.remote_tool import Location, ToolReader, prototype
from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.processes.complete_output import parsed
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch_ascend import mapping
from accelwatch_ascend.document import Chip, Detail, Document, Key, numbered, parse_mapping
from accelwatch_ascend.table import IS_COMPLETE, parse_table

_TABLE, _MAP = "info", "map"
_PROGRAMS, _FOLDERS = ("npu-smi",), ("/usr/local/Ascend/driver/tools",)


def _document(outputs: Outputs) -> Document:
    return numbered(parse_table(outputs[_TABLE].printed(IS_COMPLETE)), _logic(outputs))


def _logic(outputs: Outputs) -> dict[Key, int]:
    """Logic ids by chip; a command that does not tell has none."""
    try:
        return parse_mapping(outputs[_MAP].printed(parsed(parse_mapping)))
    except (KeyError, ReadError):
        return {}


def _listed(document: Document) -> Iterable[tuple[Location, Chip]]:
    return ((Location(chip.number, chip.pci_bus_id), chip) for chip in document.chips)


def _identified(device: Device, chip: Chip, document: Document) -> Device:
    return mapping.identified(device, chip, document.driver_version, {}, None)


def _read(device: Device, chip: Chip, document: Document) -> Reading:
    reading = mapping.read(device.id, chip, Detail())
    reading = mapping.with_card_power(reading, chip, document.chips)
    if document.npus_reporting_jobs is None or chip.npu not in document.npus_reporting_jobs:
        why = Absence.UNSUPPORTED if document.npus_reporting_jobs is None else Absence.ERROR
        return msgspec.structs.replace(reading, absent={**reading.absent, ("processes",): why})
    jobs = [job for job in document.jobs if job.key == chip.key]
    processes = tuple(mapping.processes_of(device.id, jobs))
    return msgspec.structs.replace(reading, processes=processes)


def _reader() -> ToolReader[Document, Chip]:
    common = prototype("ascend", "ascend", vendor=mapping.VENDOR)
    return ToolReader(_document, _listed, _identified, _read, provisional=common)


REMOTE = Remote(
    commands=(
        RemoteCommand(key=_TABLE, programs=_PROGRAMS, arguments=("info",), folders=_FOLDERS),
        RemoteCommand(key=_MAP, programs=_PROGRAMS, arguments=("info", "-m"), folders=_FOLDERS),
    ),
    reader=_reader,
    pci_vendors=("19e5",),
)
