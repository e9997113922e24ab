"""Accelerators of another machine by the query and the table that hl-smi printed there."""

from accelwatch.backend.kit.listed_process import with_listed
from accelwatch.backend.kit.remote import Outputs, RemoteCommand
from accelwatch.backend.kit.remote_tool import remote_tool
from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Collected, Reading
from accelwatch.system.processes.complete_output import closed, parsed
from accelwatch_gaudi import mapping, processes
from accelwatch_gaudi.document import Card, ToolOutput, together
from accelwatch_gaudi.query import QUERIES, parse_query
from accelwatch_gaudi.table import parse_table

_QUERY, _TABLE = "query", "table"
_PROGRAMS, _FOLDERS = ("hl-smi",), ("/opt/habanalabs/bin",)
_NAMES = QUERIES[0]


def _parse_query(output: bytes) -> ToolOutput:
    return parse_query(output, _NAMES)


def _cards(document: ToolOutput) -> tuple[Card, ...]:
    return document.cards


def _document(outputs: Outputs) -> ToolOutput:
    """Both together; the table alone where the query is not known."""
    try:
        query = _parse_query(outputs[_QUERY].printed(parsed(_parse_query, _cards)))
    except ReadError:
        return parse_table(outputs[_TABLE].printed(closed(parse_table, _cards)))
    try:
        return together(query, parse_table(outputs[_TABLE].printed(closed(parse_table, _cards))))
    except ReadError:
        return query


def _identified(device: Device, card: Card, document: ToolOutput) -> Device:
    return mapping.identified(device, card, None, document.driver_version)


def _read(device: Device, card: Card, document: ToolOutput) -> Reading:
    out = Collected(device.id)
    mapping.collect_card(out, card)
    reading = out.reading(sources={"*": mapping.SOURCE})
    listed = processes.processes_in(document, card.number, reading)
    if isinstance(listed, Absence):
        return processes.without(reading, listed)
    return with_listed(reading, listed)


REMOTE = remote_tool(
    "gaudi",
    vendor=mapping.VENDOR,
    prefix=mapping.PREFIX,
    vendor_id=0x1DA3,
    commands=(
        RemoteCommand(
            key=_QUERY,
            programs=_PROGRAMS,
            arguments=("-Q", ",".join(_NAMES), "-f", "csv,nounits"),
            folders=_FOLDERS,
        ),
        RemoteCommand(key=_TABLE, programs=_PROGRAMS, folders=_FOLDERS),
    ),
    document=_document,
    listed=_cards,
    identified=_identified,
    read=_read,
)
