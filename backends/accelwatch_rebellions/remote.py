"""NPUs of another machine by what `rbln-smi -j` printed there."""

from collections.abc import Iterable

from accelwatch.backend_kit.listed_process import without_processes
from accelwatch.backend_kit.remote import Outputs, Remote, RemoteCommand
from accelwatch.backend_kit.remote_tool import Location, ToolReader, prototype
from accelwatch.base.absence import Absence
from accelwatch.processes.complete_output import parsed
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch_rebellions import mapping
from accelwatch_rebellions.document import Document, Npu, parse

_KEY = "smi"


def _document(outputs: Outputs) -> Document:
    return parse(outputs[_KEY].printed(parsed(parse, lambda document: document.npus)))


def _listed(document: Document) -> Iterable[tuple[Location, Npu]]:
    return ((Location(npu.number, npu.pci_bus_id), npu) for npu in document.npus)


def _identified(device: Device, npu: Npu, document: Document) -> Device:
    return mapping.identified(device, npu, document.driver_version)


def _read(device: Device, npu: Npu, document: Document) -> Reading:
    """Without processes: on which NPU one is, only its open files tell."""
    return without_processes(mapping.read(device.id, npu, document.npus), Absence.UNSUPPORTED)


def _reader() -> ToolReader[Document, Npu]:
    common = prototype("rebellions", "rbln", vendor=mapping.VENDOR)
    return ToolReader(_document, _listed, _identified, _read, provisional=common)


REMOTE = Remote(
    commands=(
        RemoteCommand(
            key=_KEY,
            programs=("rbln-smi", "rbln-stat"),
            arguments=("-j",),
            folders=("/opt/rebellions/bin",),
        ),
    ),
    reader=_reader,
    pci_vendors=("1eff",),
)
