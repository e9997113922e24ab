"""MLUs of another machine by what `cnmon info` and the table of cnmon printed there."""

from accelwatch.backend.kit.listed_process import with_listed
from accelwatch.backend.kit.remote import Outputs
from accelwatch.backend.kit.remote_tool import remote_tool
from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch.system.processes.complete_output import closed, parsed
from accelwatch_cambricon import mapping
from accelwatch_cambricon.backend import CambriconBackend
from accelwatch_cambricon.document import Card, ToolOutput, completed, parse_info
from accelwatch_cambricon.table import parse_table

_INFO, _TABLE = "info", "table"
_COMMAND = CambriconBackend.command


def _document(outputs: Outputs) -> ToolOutput:
    """What `info` prints, completed by the table; either alone where the other fails."""
    try:
        info = parse_info(outputs[_INFO].printed(parsed(parse_info, _cards)))
    except ReadError:
        return parse_table(outputs[_TABLE].printed(closed(parse_table, _cards)))
    try:
        return completed(info, parse_table(outputs[_TABLE].printed(closed(parse_table, _cards))))
    except ReadError:
        return info


def _cards(document: ToolOutput) -> tuple[Card, ...]:
    return document.cards


def _identified(device: Device, card: Card, document: ToolOutput) -> Device:
    return mapping.identified(device, card, document.driver_version, None)


def _read(device: Device, card: Card, _: ToolOutput) -> Reading:
    jobs = card.jobs
    processes = Absence.ERROR if jobs is None else mapping.processes_of(device.id, jobs)
    return with_listed(mapping.read(device.id, card), processes)


REMOTE = remote_tool(
    "cambricon",
    vendor=mapping.VENDOR,
    prefix=_COMMAND.prefix,
    vendor_id=_COMMAND.vendor_id,
    commands=(_COMMAND.remote(_INFO, "info"), _COMMAND.remote(_TABLE)),
    document=_document,
    listed=_cards,
    identified=_identified,
    read=_read,
)
