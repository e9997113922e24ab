"""Devices of another machine, by what a relative of nvidia-smi printed there. Pure."""

from collections.abc import Iterable
from functools import partial

import msgspec

from accelwatch.backend_kit.listed_process import without_processes
from accelwatch.backend_kit.remote import Outputs, Remote
from accelwatch.backend_kit.remote_tool import Location, ToolReader, prototype
from accelwatch.backend_kit.smi.formats import Format
from accelwatch.backend_kit.smi.listing import Gpu, Listing
from accelwatch.backend_kit.smi.processes import processes_of
from accelwatch.backend_kit.smi.vendor import SmiVendor
from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.processes.complete_output import closed, parsed
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading

_QUERY, _TABLE = "query", "table"


def remote_of(vendor: SmiVendor) -> Remote:
    """How the vendor's devices are read where nothing of ours runs."""
    command = vendor.command
    return Remote(
        commands=(
            command.remote(_QUERY, *vendor.queries[0].arguments),
            command.remote(_TABLE),
        ),
        reader=partial(_reader, vendor),
        pci_vendors=(f"{command.vendor_id:04x}",),
    )


def _reader(vendor: SmiVendor) -> ToolReader[Listing, Gpu]:
    def identified(device: Device, gpu: Gpu, listing: Listing) -> Device:
        return vendor.identified(device, gpu, listing.driver_version)

    return ToolReader(
        partial(_document, vendor),
        _listed,
        identified,
        partial(_read, vendor),
        provisional=prototype(vendor.name, vendor.command.prefix, vendor.command.kind),
    )


def _document(vendor: SmiVendor, outputs: Outputs) -> Listing:
    """What the query tells, completed by the table; either alone where the other fails."""
    query, table = vendor.queries[0].format, vendor.table
    try:
        listing = query.parse(outputs[_QUERY].printed(parsed(query.parse, _gpus)))
    except ReadError:
        return _of_table(table, outputs)
    try:
        return listing.completed(_of_table(table, outputs))
    except ReadError:
        return listing


def _of_table(table: Format, outputs: Outputs) -> Listing:
    return table.parse(outputs[_TABLE].printed(closed(table.parse, _gpus)))


def _gpus(listing: Listing) -> tuple[Gpu, ...]:
    return listing.gpus


def _listed(listing: Listing) -> Iterable[tuple[Location, Gpu]]:
    return ((Location(gpu.number, gpu.pci_bus_id), gpu) for gpu in listing.gpus)


def _read(vendor: SmiVendor, device: Device, gpu: Gpu, listing: Listing) -> Reading:
    reading = vendor.reading(device, gpu)
    if listing.jobs is None:
        return without_processes(reading, Absence.ERROR)
    mine = [job for job in listing.jobs if job.number == gpu.number]
    processes = tuple(processes_of(device.id, mine, vendor.process_memory))
    return msgspec.structs.replace(reading, processes=processes)
