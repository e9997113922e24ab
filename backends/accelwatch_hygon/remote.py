"""DCUs of another machine by what the runs of hy-smi printed there; no bus of this one is read."""

from collections.abc import Iterable

import msgspec

from accelwatch.backend_kit.listed_process import without_processes
from accelwatch.backend_kit.remote import Outputs, Remote
from accelwatch.backend_kit.remote_tool import Location, ToolReader, prototype, replay
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch_hygon import mapping
from accelwatch_hygon.command import COMMAND
from accelwatch_hygon.document import Card, Document
from accelwatch_hygon.rounds import HEALTH, PROCESSES, QUERIES, Rounds

_MOST, _USUAL, _LEAST = QUERIES
_COMMANDS = (
    COMMAND.remote("fields", *_MOST),
    COMMAND.remote("usual", *_USUAL, if_fails="fields"),
    COMMAND.remote("least", *_LEAST, if_fails="fields"),
    COMMAND.remote("table"),
    COMMAND.remote("health", *HEALTH),
    COMMAND.remote("processes", *PROCESSES),
)


def _document(outputs: Outputs) -> Document:
    rounds = Rounds(replay(_COMMANDS, outputs), list, is_foreign=lambda _: False)
    return rounds.query()


def _listed(document: Document) -> Iterable[tuple[Location, Card]]:
    return ((Location(card.number, card.pci_bus_id), card) for card in document.cards)


def _identified(device: Device, card: Card, document: Document) -> Device:
    return mapping.identified(device, card, document.driver_version)


def _read(device: Device, card: Card, document: Document) -> Reading:
    out = mapping.collect(device.id, card)
    reading = out.reading(sources={"*": mapping.SOURCE}, notes=mapping.notes_of(card))
    if document.jobs is None:
        return without_processes(reading, Absence.ERROR)
    # hy-smi names no program, and whose pid it is here says nothing of there.
    jobs = mapping.processes_of(device.id, card.number, document.jobs, lambda _: None)
    return msgspec.structs.replace(reading, processes=tuple(jobs))


def _reader() -> ToolReader[Document, Card]:
    common = prototype(mapping.VENDOR, COMMAND.prefix, COMMAND.kind)
    return ToolReader(_document, _listed, _identified, _read, provisional=common)


REMOTE = Remote(commands=_COMMANDS, reader=_reader, pci_vendors=(f"{COMMAND.vendor_id:04x}",))
