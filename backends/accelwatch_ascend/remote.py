"""NPUs of another machine by what `npu-smi info` printed there: its table, its map, and boards."""

import msgspec

from accelwatch.backend.kit.listed_process import with_listed
from accelwatch.backend.kit.remote import Outputs
from accelwatch.backend.kit.remote_tool import remote_tool
from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch.system.processes.complete_output import parsed
from accelwatch_ascend import mapping
from accelwatch_ascend.backend import AscendBackend
from accelwatch_ascend.document import (
    IS_OF_CHIP,
    Chip,
    Detail,
    Key,
    Pairs,
    ToolOutput,
    numbered,
    parse_mapping,
    parse_pairs,
)
from accelwatch_ascend.table import IS_COMPLETE, parse_table

_TABLE, _MAP, _BOARD = "info", "map", "board"
_COMMAND = AscendBackend.command


def _document(outputs: Outputs) -> ToolOutput:
    document = numbered(parse_table(outputs[_TABLE].printed(IS_COMPLETE)), _logic(outputs))
    boards = {chip.key: _board(outputs, chip) for chip in document.chips}
    return msgspec.structs.replace(document, boards=boards)


def _logic(outputs: Outputs) -> dict[Key, int]:
    """Logic ids by chip; empty where the command has none."""
    try:
        return parse_mapping(outputs[_MAP].printed(parsed(parse_mapping)))
    except (KeyError, ReadError):
        return {}


def _board(outputs: Outputs, chip: Chip) -> Pairs:
    """Who the chip is; empty in later rounds, and where the command has nothing."""
    try:
        return parse_pairs(outputs[f"{_BOARD}/{chip.npu}-{chip.chip}"].printed(IS_OF_CHIP))
    except (KeyError, ReadError):
        return {}


def _identified(device: Device, chip: Chip, document: ToolOutput) -> Device:
    board = document.boards.get(chip.key, {})
    return mapping.identified(device, chip, document.driver_version, board, None)


def _read(device: Device, chip: Chip, document: ToolOutput) -> Reading:
    reading = mapping.read(device.id, chip, Detail())
    reading = mapping.with_card_power(reading, chip, document.chips)
    if document.npus_reporting_jobs is None or chip.npu not in document.npus_reporting_jobs:
        why = Absence.UNSUPPORTED if document.npus_reporting_jobs is None else Absence.ERROR
        return with_listed(reading, why)
    jobs = [job for job in document.jobs if job.key == chip.key]
    return with_listed(reading, mapping.processes_of(device.id, jobs))


REMOTE = remote_tool(
    "ascend",
    vendor=mapping.VENDOR,
    prefix=_COMMAND.prefix,
    vendor_id=_COMMAND.vendor_id,
    commands=(
        _COMMAND.remote(_TABLE, "info"),
        _COMMAND.remote(_MAP, "info", "-m"),
        msgspec.structs.replace(
            _COMMAND.remote(_BOARD, "info", "-t", "board"),
            rows_of=("info", "-m"),
            row_options=("-i", "-c"),
            timeout_s=2.0,
        ),
    ),
    document=_document,
    listed=lambda document: document.chips,
    identified=_identified,
    read=_read,
)
