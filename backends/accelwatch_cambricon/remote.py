"""MLUs of another machine by what `cnmon info` and the table of cnmon printed there."""

from collections.abc import Iterable

import msgspec

from accelwatch.backend_kit.listed_process import without_processes
from accelwatch.backend_kit.remote import Outputs, Remote, RemoteCommand
from accelwatch.backend_kit.remote_tool import Location, ToolReader, prototype
from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.processes.complete_output import closed, parsed
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch_cambricon import mapping
from accelwatch_cambricon.document import Card, Document, completed, parse_info
from accelwatch_cambricon.table import parse_table

_INFO, _TABLE = "info", "table"
_PROGRAMS, _FOLDERS = ("cnmon",), ("/usr/local/neuware/bin",)


def _document(outputs: Outputs) -> Document:
    """What `info` tells, completed by the table; either alone where the other fails."""
    try:
        info = parse_info(outputs[_INFO].printed(parsed(parse_info, _cards)))
    except ReadError:
        return parse_table(outputs[_TABLE].printed(closed(parse_table, _cards)))
    try:
        return completed(info, parse_table(outputs[_TABLE].printed(closed(parse_table, _cards))))
    except ReadError:
        return info


def _cards(document: Document) -> tuple[Card, ...]:
    return document.cards


def _listed(document: Document) -> Iterable[tuple[Location, Card]]:
    return ((Location(card.number, card.pci_bus_id), card) for card in document.cards)


def _identified(device: Device, card: Card, document: Document) -> Device:
    return mapping.identified(device, card, document.driver_version, None)


def _read(device: Device, card: Card, _: Document) -> Reading:
    reading = mapping.read(device.id, card)
    if card.jobs is None:
        return without_processes(reading, Absence.ERROR)
    processes = tuple(mapping.processes_of(device.id, card.jobs))
    return msgspec.structs.replace(reading, processes=processes)


def _reader() -> ToolReader[Document, Card]:
    common = prototype("cambricon", "mlu", vendor=mapping.VENDOR)
    return ToolReader(_document, _listed, _identified, _read, provisional=common)


REMOTE = Remote(
    commands=(
        RemoteCommand(key=_INFO, programs=_PROGRAMS, arguments=("info",), folders=_FOLDERS),
        RemoteCommand(key=_TABLE, programs=_PROGRAMS, folders=_FOLDERS),
    ),
    reader=_reader,
    pci_vendors=("cabc",),
)
