"""The processes of a card by hl-smi's table, or why they are not known. Pure."""

from collections.abc import Iterable

import msgspec

from accelwatch.backend.kit.listed_process import listed, without_processes
from accelwatch.backend.kit.text.quantity import BYTES, quantity
from accelwatch.base.absence import Absence
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Process, Reading
from accelwatch_gaudi.document import Entry, ToolOutput

# The most that a card without a process has. Published tables show 512 to 768 MiB in use, and up to
# 17 % of load, on HL-205; no document of the vendor says it.
_AT_REST: dict[Series, float] = {("memory_used_bytes",): 1 << 30, ("utilization_ratio",): 0.25}
_CONCLUDED = (
    "hl-smi names no process, but more than 1 GiB of memory or 25 % of load are in use: "
    "the device counts as in use"
)


def processes_in(document: ToolOutput, number: int, numbers: Reading) -> list[Process] | Absence:
    """The processes of the card `number` by pid, or why they are not known.

    hl-smi says `N/A` of a card that another user uses, too: it shows all processes to root only, and
    in a container not even to root.
    """
    if document.entries is None:
        return Absence.UNSUPPORTED
    mine = [entry for entry in document.entries if entry.number == number]
    if mine:
        return processes_of(numbers.device_id, mine)
    if number not in document.vacant:
        # Its row was cut off, or is not one that we know.
        return Absence.ERROR
    if any(numbers.values.get(series, 0) > most for series, most in _AT_REST.items()):
        return Absence.PERMISSION
    unknown = [series for series in _AT_REST if series not in numbers.values]
    return numbers.absent.get(unknown[0], Absence.UNSUPPORTED) if unknown else []


def without(numbers: Reading, why: Absence) -> Reading:
    """The reading whose processes are not known, with what that was concluded from."""
    if why is Absence.PERMISSION:
        numbers = msgspec.structs.replace(numbers, notes=(*numbers.notes, _CONCLUDED))
    return without_processes(numbers, why)


def processes_of(device_id: str, entries: Iterable[Entry]) -> list[Process]:
    """The processes of one card, by pid."""
    by_pid: dict[int, Process] = {}
    for entry in entries:
        by_pid.setdefault(entry.pid, _process(device_id, entry))
    return [by_pid[pid] for pid in sorted(by_pid)]


def _process(device_id: str, entry: Entry) -> Process:
    return listed(device_id, entry.pid, entry.command, quantity(entry.memory, BYTES))
