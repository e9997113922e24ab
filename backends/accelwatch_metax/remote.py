"""GPUs of another machine by what the runs of mx-smi printed there."""

from collections.abc import Iterable

import msgspec

from accelwatch.backend_kit.listed_process import without_processes
from accelwatch.backend_kit.remote import Outputs, Remote
from accelwatch.backend_kit.remote_tool import Location, ToolReader, prototype, replay
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch_metax import mapping
from accelwatch_metax.command import COMMAND
from accelwatch_metax.document import Document, Gpu
from accelwatch_metax.rounds import FEWER, SECTIONS, Rounds

_COMMANDS = (
    COMMAND.remote("table"),
    COMMAND.remote("list", "-L"),
    COMMAND.remote("sections", *SECTIONS[0]),
    COMMAND.remote("temperature", *FEWER[0], if_fails="sections"),
    COMMAND.remote("ecc", *SECTIONS[1]),
)


def _document(outputs: Outputs) -> Document:
    return Rounds(replay(_COMMANDS, outputs)).query()


def _listed(document: Document) -> Iterable[tuple[Location, Gpu]]:
    return ((Location(gpu.number, gpu.pci_bus_id), gpu) for gpu in document.gpus)


def _identified(device: Device, gpu: Gpu, document: Document) -> Device:
    return mapping.identified(device, gpu, document.versions.get("driver"))


def _read(device: Device, gpu: Gpu, document: Document) -> Reading:
    out = mapping.collect(device.id, gpu)
    reading = mapping.reading_of(out, gpu, {"*": mapping.SOURCE})
    if document.jobs is None:
        return without_processes(reading, Absence.ERROR)
    processes = tuple(mapping.processes_of(device.id, gpu.number, document.jobs))
    return msgspec.structs.replace(reading, processes=processes)


def _reader() -> ToolReader[Document, Gpu]:
    common = prototype(mapping.VENDOR, COMMAND.prefix, COMMAND.kind)
    return ToolReader(_document, _listed, _identified, _read, provisional=common)


REMOTE = Remote(commands=_COMMANDS, reader=_reader, pci_vendors=(f"{COMMAND.vendor_id:04x}",))
