"""GPUs of another machine by what `mthreads-gmi -q --json` and its table printed there."""

from collections.abc import Iterable

import msgspec

from accelwatch.backend_kit.listed_process import without_processes
from accelwatch.backend_kit.quantity_text import BYTES
from accelwatch.backend_kit.remote import Outputs, Remote, RemoteCommand
from accelwatch.backend_kit.remote_tool import Location, ToolReader, prototype
from accelwatch.backend_kit.smi.listing import Gpu, Listing
from accelwatch.backend_kit.smi.processes import processes_of
from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.processes.complete_output import closed, parsed
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.reading import Reading
from accelwatch_mthreads import mapping
from accelwatch_mthreads.document import parse_json
from accelwatch_mthreads.table import parse_table

_QUERY, _TABLE = "query", "table"
_PROGRAMS, _FOLDERS = ("mthreads-gmi",), ("/usr/local/musa/bin",)


def _document(outputs: Outputs) -> Listing:
    """What the query tells, completed by the table; either alone where the other fails."""
    try:
        listing = parse_json(outputs[_QUERY].printed(parsed(parse_json, _gpus)))
    except ReadError:
        return parse_table(outputs[_TABLE].printed(closed(parse_table, _gpus)))
    try:
        return listing.completed(parse_table(outputs[_TABLE].printed(closed(parse_table, _gpus))))
    except ReadError:
        return listing


def _gpus(listing: Listing) -> tuple[Gpu, ...]:
    return listing.gpus


def _listed(listing: Listing) -> Iterable[tuple[Location, Gpu]]:
    return ((Location(gpu.number, gpu.pci_bus_id), gpu) for gpu in listing.gpus)


def _identified(device: Device, gpu: Gpu, listing: Listing) -> Device:
    return mapping.identified(device, gpu, listing.driver_version, None)


def _read(device: Device, gpu: Gpu, listing: Listing) -> Reading:
    reading = mapping.read(device.id, gpu)
    if listing.jobs is None:
        return without_processes(reading, Absence.ERROR)
    mine = [job for job in listing.jobs if job.number == gpu.number]
    processes = tuple(processes_of(device.id, mine, BYTES))
    return msgspec.structs.replace(reading, processes=processes)


def _reader() -> ToolReader[Listing, Gpu]:
    common = prototype("mthreads", "mtgpu", DeviceKind.GPU, mapping.VENDOR)
    return ToolReader(_document, _listed, _identified, _read, provisional=common)


REMOTE = Remote(
    commands=(
        RemoteCommand(key=_QUERY, programs=_PROGRAMS, arguments=("-q", "--json"), folders=_FOLDERS),
        RemoteCommand(key=_TABLE, programs=_PROGRAMS, folders=_FOLDERS),
    ),
    reader=_reader,
    pci_vendors=("1ed5",),
)
