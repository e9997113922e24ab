"""Devices of another machine, by what a relative of nvidia-smi printed there. Pure."""

from collections.abc import Iterable
from functools import partial

from accelwatch.backend.kit.listed_process import with_listed
from accelwatch.backend.kit.remote import Outputs, Remote
from accelwatch.backend.kit.remote_tool import remote_tool
from accelwatch.backend.kit.smi.formats import Format
from accelwatch.backend.kit.smi.listing import Gpu, Listing
from accelwatch.backend.kit.smi.processes import processes_of
from accelwatch.backend.kit.smi.vendor import SmiVendor
from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Process, Reading
from accelwatch.system.processes.complete_output import closed, parsed

_QUERY, _TABLE = "query", "table"


def remote_of(vendor: SmiVendor) -> Remote:
    """How the vendor's devices are read where nothing of ours runs."""
    command = vendor.command

    def identified(device: Device, gpu: Gpu, listing: Listing) -> Device:
        return vendor.identified(device, gpu, listing.driver_version)

    return remote_tool(
        vendor.name,
        prefix=command.prefix,
        vendor_id=command.vendor_id,
        kind=command.kind,
        commands=(
            command.remote(_QUERY, *vendor.queries[0].arguments),
            command.remote(_TABLE),
        ),
        document=partial(_document, vendor),
        listed=_gpus,
        identified=identified,
        read=partial(_read, vendor),
    )


def _document(vendor: SmiVendor, outputs: Outputs) -> Listing:
    """The query's output completed by the table; either alone where the other fails."""
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


def _read(vendor: SmiVendor, device: Device, gpu: Gpu, listing: Listing) -> Reading:
    processes: Iterable[Process] | Absence = Absence.ERROR
    if listing.jobs is not None:
        mine = [job for job in listing.jobs if job.number == gpu.number]
        processes = processes_of(device.id, mine, vendor.process_memory)
    return with_listed(vendor.reading(device, gpu), processes)
