"""The processes of a card by hl-smi's table, or why they are not known. Pure."""

from collections.abc import Iterable

from accelwatch.listed_process import listed
from accelwatch.quantity_text import BYTES, quantity
from accelwatch.schema.absence import Absence
from accelwatch.schema.reading import Process, Reading
from accelwatch_gaudi.document import Document, Entry

_BYTES_AT_REST = 1 << 30
"""Published tables show 512 to 768 MiB in use on cards without a process."""
_LOAD_AT_REST = 0.25
"""And up to 17 % of load, on HL-205."""


def processes_in(document: Document, number: int, numbers: Reading) -> list[Process] | Absence:
    """The processes of the card `number` by pid, or why they are not known.

    hl-smi says `N/A` of a card that somebody else uses, too: it shows all processes to root only, and
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
    return Absence.PERMISSION if _is_occupied(numbers) else []


def _is_occupied(numbers: Reading) -> bool:
    """Whether memory or load are more than those of a card at rest."""
    used = numbers.values.get(("memory_used_bytes",), 0)
    load = numbers.values.get(("utilization_ratio",), 0)
    return used > _BYTES_AT_REST or load > _LOAD_AT_REST


def processes_of(device_id: str, entries: Iterable[Entry]) -> list[Process]:
    """The processes of one card, by pid."""
    told: dict[int, Process] = {}
    for entry in entries:
        told.setdefault(entry.pid, _process(device_id, entry))
    return [told[pid] for pid in sorted(told)]


def _process(device_id: str, entry: Entry) -> Process:
    return listed(device_id, entry.pid, entry.command, quantity(entry.memory, BYTES))
