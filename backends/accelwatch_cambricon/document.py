"""What `cnmon info` prints, parsed: a block of indented `key : value` lines a card. Pure.

A field goes by its path in lower case; the table of `cnmon` gives its columns the same paths.
"""

import re
from collections.abc import Iterable, Mapping

import msgspec

from accelwatch.base.errors import ReadError
from accelwatch.schema.device import normal_pci_bus_id

Path = tuple[str, ...]
MAX_CARDS = 1024
_NO_VALUE = frozenset({"", "-", "/", "n/a", "na", "none", "unknown", "not supported"})
_CARD = re.compile(r"Card\s*(\d{1,4})\s*:?\s*")
_LINE = re.compile(r"( *)([^:]{1,80}?)\s*:\s*(.*?)\s*")
_HEX = re.compile(r"[0-9A-Fa-f]{1,8}")
BUS = re.compile(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]")


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One process on one card."""

    pid: int
    command: str
    # As printed, with its unit.
    memory: str


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One card as printed."""

    # The vendor's index.
    number: int
    pci_bus_id: str | None
    fields: Mapping[Path, str]
    # None when the processes are unknown.
    jobs: tuple[Job, ...] | None = None

    def text(self, *path: str) -> str | None:
        """A field; None when it is missing, empty or says that there is nothing."""
        return meaningful_text(self.fields.get(path))

    def completed(self, other: "Card | None") -> "Card":
        """With what another account of it has and this lacks."""
        if other is None:
            return self
        return Card(
            number=self.number,
            pci_bus_id=self.pci_bus_id or other.pci_bus_id,
            fields={**other.fields, **self.fields},
            jobs=other.jobs if self.jobs is None else self.jobs,
        )


class ToolOutput(msgspec.Struct, frozen=True, kw_only=True):
    """All that was printed."""

    driver_version: str | None = None
    cards: tuple[Card, ...] = ()


def meaningful_text(text: str | None) -> str | None:
    """A text that says something."""
    plain = (text or "").strip()
    return None if plain.lower() in _NO_VALUE else plain


def number_of(text: str | None) -> int | None:
    """A whole number that is not negative."""
    plain = (text or "").strip()
    return int(plain) if plain.isascii() and plain.isdecimal() and len(plain) < 10 else None


def distinct(cards: Iterable[Card]) -> tuple[Card, ...]:
    """The first card of each number."""
    by_number: dict[int, Card] = {}
    for card in cards:
        if len(by_number) < MAX_CARDS:
            by_number.setdefault(card.number, card)
    return tuple(by_number.values())


def parse_info(output: bytes) -> ToolOutput:
    """The cards of `cnmon info`. Raises ReadError when there is none."""
    blocks: list[tuple[int, list[str]]] = []
    # Of a line that was cut nobody knows how it went on.
    for line in output.decode("utf-8", "replace").split("\n")[:-1]:
        header = _CARD.fullmatch(line)
        if header is not None:
            blocks.append((int(header[1]), []))
        elif blocks:
            blocks[-1][1].append(line.expandtabs())
    if not blocks:
        raise ReadError("cnmon info printed no card", code="garbage")
    cards = distinct(_card(number, lines) for number, lines in blocks)
    return ToolOutput(driver_version=cards[0].text("driver"), cards=cards)


def _card(number: int, lines: list[str]) -> Card:
    fields: dict[Path, str] = {}
    processes: list[dict[str, str]] = []
    above: list[tuple[int, str]] = []
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        indent, key = len(match[1]), " ".join(match[2].lower().split())
        above = [heading for heading in above if heading[0] < indent]
        path = (*(name for _, name in above), key)
        above.append((indent, key))
        if path == ("processes", "process"):
            processes.append({})
        elif path[:2] == ("processes", "process") and processes:
            processes[-1].setdefault(key, match[3])
        else:
            fields.setdefault(path, match[3])
    jobs = tuple(job for process in processes if (job := _job(process)) is not None)
    lists_processes = ("processes",) in fields
    address = _pci_address(fields)
    return Card(
        number=number, pci_bus_id=address, fields=fields, jobs=jobs if lists_processes else None
    )


def _job(process: Mapping[str, str]) -> Job | None:
    pid = number_of(process.get("pid"))
    if not pid:
        return None
    command = process.get("cmdline", process.get("command line", ""))
    return Job(pid=pid, command=command, memory=process.get("mlu memory usage", ""))


def _pci_address(fields: Mapping[Path, str]) -> str | None:
    """The address from its parts, in hexadecimal digits; None when one of them is missing."""
    keys = ("domain id", "bus num", "device", "function")
    components = [(fields.get(("pci", key)) or "").strip() for key in keys]
    if not all(map(_HEX.fullmatch, components)):
        return None
    domain, bus, device, function = (int(component, 16) for component in components)
    if bus > 0xFF or device > 0x1F or function > 7:
        return None
    return normal_pci_bus_id(f"{domain:04x}:{bus:02x}:{device:02x}.{function}")


def completed(info: ToolOutput, table: ToolOutput) -> ToolOutput:
    """With what the table has and `info` lacks."""
    more = {card.number: card for card in table.cards}
    return ToolOutput(
        driver_version=info.driver_version or table.driver_version,
        cards=tuple(card.completed(more.get(card.number)) for card in info.cards),
    )
