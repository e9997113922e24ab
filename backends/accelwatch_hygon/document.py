"""All that hy-smi said in one round, as cards. Pure."""

import re
from collections.abc import Iterable

import msgspec

from accelwatch.base.errors import ReadError
from accelwatch.schema.device import normal_pci_bus_id
from accelwatch.system.processes.printed import complete_lines
from accelwatch_hygon.report import SYSTEM, Fields, Report

_BUS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.IGNORECASE)
_NOTHING = frozenset({"", "n/a", "na", "none", "null", "unknown", "-", "?", "not supported"})
_HEALTH = re.compile(
    r"[HD]CU\[(\d{1,4})\]\s*:\s*Bus Id\s*:\s*([0-9a-f:.]+)\s*:\s*(\S[^\n]{0,63}?)\s*",
    re.IGNORECASE,
)
_PIDS = re.compile(r"\W*(?:PIDs for KFD processes|No KFD PIDs currently running)\W*")
_PID = re.compile(r"PID: *(\d{1,9})\s*")
_INDEX = re.compile(r"\s+[HD]CU Index: *(.*)", re.IGNORECASE)
_USED = re.compile(r"\s+VRAM USED\((MiB|KiB|GiB|B)\): *(\d{1,15})\s*", re.IGNORECASE)


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A process on some of the cards."""

    pid: int
    # Of its cards.
    numbers: tuple[int, ...]
    # With its unit, on all its cards together.
    memory: str | None = None


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One DCU."""

    # The vendor's index.
    number: int
    pci_bus_id: str | None
    fields: Fields
    # Of the table.
    row: Fields = {}
    # The word of the health check.
    health: str | None = None
    # Whether its PCI id is the bus's at its number, because nothing reports it.
    addressed_by_order: bool = False

    def text(self, *keys: str) -> str | None:
        """The first of these that says something."""
        texts = (self.fields.get(key, "").strip() for key in keys)
        return next((text for text in texts if text.lower() not in _NOTHING), None)


class ToolOutput(msgspec.Struct, frozen=True, kw_only=True):
    """All that was printed."""

    cards: tuple[Card, ...]
    driver_version: str | None = None
    # None where processes were not to be had.
    jobs: tuple[Job, ...] | None = None


class Checked(msgspec.Struct, frozen=True):
    """What the health check says of one card."""

    number: int
    pci_bus_id: str
    health: str


def cards_of(fields: Report, rows: Report) -> tuple[Card, ...]:
    """Cards by index, from both sources. Raises ReadError when both are empty."""
    numbers = sorted((fields.keys() | rows.keys()) - {SYSTEM})
    if not numbers:
        raise ReadError("hy-smi printed neither fields of a card nor its table", code="garbage")
    return tuple(
        Card(
            number=number,
            pci_bus_id=bus_of(fields.get(number, {}).get("pci bus", "")),
            fields=fields.get(number, {}),
            row=rows.get(number, {}),
        )
        for number in numbers
    )


def bus_of(text: str) -> str | None:
    """The PCI id that a text begins with; on boards with OAM modules the slot's names follow it."""
    match = _BUS.match(text.strip())
    return normal_pci_bus_id(match[0]) if match else None


def driver_version_of(fields: Report) -> str | None:
    """As the fields of the whole machine have it."""
    version = fields.get(SYSTEM, {}).get("driver version", "")
    return None if version.lower() in _NOTHING else version


def health_of(output: bytes) -> tuple[Checked, ...]:
    """Lines of the health check: `HCU[0] : Bus Id : 0000:01:00.0 : Healthy`."""
    matches = map(_HEALTH.fullmatch, complete_lines(output))
    return tuple(
        Checked(int(match[1]), normal_pci_bus_id(match[2]), match[3])
        for match in matches
        if match is not None
    )


def with_health(cards: Iterable[Card], checked: Iterable[Checked]) -> tuple[Card, ...]:
    """The cards, each with the word for its PCI id; by index only where none is printed.

    A run may number the cards anew after one of them is gone; their PCI ids stay.
    """
    checks = tuple(checked)
    by_bus = {check.pci_bus_id: check.health for check in checks}
    by_number = {check.number: check.health for check in checks}
    return tuple(
        msgspec.structs.replace(
            card,
            health=by_number.get(card.number)
            if card.pci_bus_id is None or card.addressed_by_order
            else by_bus.get(card.pci_bus_id),
        )
        for card in cards
    )


def jobs_of(output: bytes) -> tuple[Job, ...]:
    """Processes of `--showpids`; `VRAM USED(%)` is not read, it may be infinite.

    Raises ReadError where a process has no card, as it may be on any, and where there is no list.
    """
    jobs: list[Job] = []
    is_list = False
    for line in complete_lines(output):
        if _PIDS.fullmatch(line) is not None:
            is_list = True
        elif (match := _PID.fullmatch(line)) is not None:
            jobs.append(Job(pid=int(match[1]), numbers=()))
        elif line.startswith("PID"):
            raise ReadError(f"hy-smi --showpids: {line[:80]!r} is not a process", code="garbage")
        elif not jobs:
            continue
        elif (match := _INDEX.fullmatch(line)) is not None:
            numbers = tuple(int(number) for number in re.findall(r"'(\d{1,4})'", match[1]))
            jobs[-1] = msgspec.structs.replace(jobs[-1], numbers=numbers)
        elif (match := _USED.fullmatch(line)) is not None:
            jobs[-1] = msgspec.structs.replace(jobs[-1], memory=f"{match[2]} {match[1]}")
    if not is_list:
        raise ReadError("hy-smi --showpids printed no list of processes", code="garbage")
    placeless = next((job.pid for job in jobs if job.pid and not job.numbers), None)
    if placeless is not None:
        raise ReadError(
            f"hy-smi --showpids does not say which card process {placeless} uses", code="garbage"
        )
    return tuple(job for job in jobs if job.pid)
