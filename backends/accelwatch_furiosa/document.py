"""What furiosa-smi and furiosactl print, in one form. Pure; a field of another type is not there.

`furiosa-smi info` has who a card is, temperature and power, `status` has liveness, memory and cores.
Their JSON has other keys for one thing (`dev_name`, `device`), and the tables have headings.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from accelwatch.errors import ReadError
from accelwatch.schema.device import normal_pci_bus_id
from accelwatch_furiosa.box_table import rows_of

Fields = Mapping[str, Any]
MAX_DEVICES = 1024
_NAME = re.compile(r"npu(\d{1,4})")
_HEADINGS = {
    "arch": "arch",
    "name": "arch",
    "device": "dev_name",
    "npu": "dev_name",
    "uuid": "device_uuid",
    "s/n": "device_sn",
    "serial": "device_sn",
    "firmware": "firmware",
    "pert": "pert",
    "temp.": "temperature",
    "power": "power",
    "pci-bdf": "pci_bdf",
}
"""Heading of a table to key of the JSON; `furiosactl` calls the architecture a name."""
_NOTHING = frozenset({"", "n/a", "none", "null", "unknown", "-"})


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One NPU."""

    number: int
    """Of `npu0`; the driver deals them out anew when a card drops."""
    pci_bus_id: str | None
    info: Fields
    status: Fields = {}
    """Empty where the command has no status."""

    def text(self, key: str) -> str | None:
        """A text of the information; None when it is missing or says that there is none."""
        told = self.info.get(key)
        plain = told.strip() if isinstance(told, str) else ""
        return None if plain.lower() in _NOTHING else plain


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One process on an NPU."""

    number: int
    pid: int
    command: str


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """All that was listed."""

    cards: tuple[Card, ...]
    jobs: tuple[Job, ...] | None = None
    """None where processes were not to be had."""


def cards_of(info: bytes, status: bytes = b"") -> tuple[Card, ...]:
    """Cards from the output of `info` and, where there is one, of `status`: JSON or tables.

    Raises ReadError when `info` is neither. A status that is none costs only what it would have said.
    """
    told = _listed(info)
    if told is None:
        told = [_by_key(row) for row in rows_of(info)]
        if not told and b"|" not in info:
            raise ReadError("furiosa-smi info printed neither JSON nor a table", code="garbage")
    by_name = {name: one for one in _listed(status) or () if (name := _number(one)) is not None}
    cards: dict[int, Card] = {}
    for fields in told[:MAX_DEVICES]:
        number = _number(fields)
        if number is not None and number not in cards:
            cards[number] = _card(number, fields, by_name.get(number, {}))
    return tuple(cards.values())


def jobs_of(output: bytes) -> tuple[Job, ...]:
    """Processes from the table of `ps`; `npu0pe0-1` is on npu0."""
    jobs: list[Job] = []
    for row in rows_of(output):
        match = _NAME.match(row.get("npu") or row.get("device") or "")
        pid = row.get("pid", "")
        if match is not None and pid.isdecimal() and 0 < len(pid) < 10 and int(pid):
            jobs.append(Job(number=int(match[1]), pid=int(pid), command=row.get("cmd", "")))
    return tuple(jobs)


def _listed(output: bytes) -> list[Fields] | None:
    """The objects of a JSON list; None for what is no such list."""
    try:
        told = msgspec.json.decode(output)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return [one for one in told if isinstance(one, dict)] if isinstance(told, list) else None


def _by_key(row: Mapping[str, str]) -> Fields:
    return {_HEADINGS[heading]: cell for heading, cell in row.items() if heading in _HEADINGS}


def _number(fields: Fields) -> int | None:
    names: Iterable[object] = (fields.get("dev_name"), fields.get("device"))
    for name in names:
        match = _NAME.fullmatch(name.strip()) if isinstance(name, str) else None
        if match is not None:
            return int(match[1])
    return None


def _card(number: int, info: Fields, status: Fields) -> Card:
    bus = info.get("pci_bdf")
    place = normal_pci_bus_id(bus) if isinstance(bus, str) and ":" in bus else None
    return Card(number=number, pci_bus_id=place, info=info, status=status)
