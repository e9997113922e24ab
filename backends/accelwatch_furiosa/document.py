"""What furiosa-smi and furiosactl print, in one form. Pure; a field of another type is not there.

`furiosa-smi info` has who a card is, temperature and power, `status` has liveness, memory and cores.
Their JSON has other keys for one thing (`dev_name`, `device`), and the tables have headings.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.schema.device import normal_pci_bus_id
from accelwatch.system.processes.complete_output import is_closed
from accelwatch.system.processes.printed import json_documents
from accelwatch_furiosa.box_table import blocks_of, lines_of, rows_of

Fields = Mapping[str, Any]
MAX_DEVICES = 1024
# Our own key of a status: there may be cores beside those that it lists.
UNLISTED = "unlisted_cores"
_NAME = re.compile(r"npu(\d{1,4})")
# A card, or cores of it: `npu0`, `npu0pe0-1`.
_CARD_OR_CORES = re.compile(r"npu:?(\d{1,4})(?:\D.*)?")
# Heading of a table to key of the JSON; `furiosactl` calls the architecture a name.
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
    "power limit": "power_limit",
    "clock": "core_clock",
    "core clock": "core_clock",
    "pci-bdf": "pci_bdf",
}
_LISTED = re.compile(r"(\d{1,3}) *\((available|occupied)[^()]{0,40}\)")
_CORE = re.compile(r"Core (\d{1,3}): ([\d.]{1,8})%")
_MEMORY = re.compile(r"([\d.]{1,8})\s*/\s*([\d.]{1,8}\s*[KMGT]iB)", re.IGNORECASE)
_NOTHING = frozenset({"", "n/a", "none", "null", "unknown", "-"})


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One NPU."""

    # Of `npu0`; the driver renumbers the cards when one drops.
    number: int
    pci_bus_id: str | None
    info: Fields
    # Empty where the command has no status, or did not print it.
    status: Fields = {}
    # Why the status says nothing of what it does not say.
    absence: Absence = Absence.UNSUPPORTED
    # `/dev/npu1pe0` and the others, where the command lists them.
    nodes: tuple[str, ...] = ()

    @property
    def occupied(self) -> bool:
        """Whether a core is reported as in use."""
        utilizations = self.status.get("pe_utilizations")
        cores = utilizations if isinstance(utilizations, list) else []
        return any(isinstance(core, dict) and core.get("pe_occupancy") is True for core in cores)

    def with_cores(self, cores: Iterable[Fields]) -> "Card":
        """The card with its cores' fields, in the keys of the JSON, beside those before."""
        before = self.status.get("pe_utilizations")
        by_core: dict[int, dict[str, Any]] = {}
        for core in (*(before if isinstance(before, list) else ()), *cores):
            number = core.get("pe_core") if isinstance(core, dict) else None
            if isinstance(number, int):
                by_core[number] = {**by_core.get(number, {}), **core}
        together = [by_core[number] for number in sorted(by_core)]
        status = {**self.status, "pe_utilizations": together}
        return msgspec.structs.replace(self, status=status)

    def text(self, key: str) -> str | None:
        """A text of the information; None when it is missing or says that there is none."""
        value = self.info.get(key)
        plain = value.strip() if isinstance(value, str) else ""
        return None if plain.lower() in _NOTHING else plain


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One process on an NPU."""

    number: int
    pid: int
    command: str


class ToolOutput(msgspec.Struct, frozen=True, kw_only=True):
    """All that was listed."""

    cards: tuple[Card, ...]
    # Why there are none, where processes were not to be had.
    jobs: tuple[Job, ...] | Absence = Absence.UNSUPPORTED


def cards_of(info: bytes, status: bytes | Absence = Absence.UNSUPPORTED) -> tuple[Card, ...]:
    """Cards from the output of `info` and, where there is one, of `status`: JSON or tables.

    Raises ReadError when `info` is neither. A malformed status costs only its own values.
    """
    listed = _listed(info)
    if listed is None:
        listed = [_by_key(row) for row in rows_of(info)]
        if not listed and b"|" not in info:
            raise ReadError("furiosa-smi info printed neither JSON nor a table", code="garbage")
    states, absence = (
        ([], status) if isinstance(status, Absence) else (_states(status), Absence.ERROR)
    )
    by_name = {name: state for state in states if (name := _number(state)) is not None}
    if by_name:
        absence = Absence.UNSUPPORTED
    cards: dict[int, Card] = {}
    for fields in listed[:MAX_DEVICES]:
        number = _number(fields)
        if number is not None and number not in cards:
            cards[number] = _card(number, fields, by_name.get(number, {}), absence)
    return tuple(cards.values())


def is_complete(output: bytes) -> bool:
    """Whether an output of `info` or `status` is a list in JSON or a whole table, and not empty."""
    listed = _listed(output)
    return bool(listed) if listed is not None else is_closed(output) and bool(rows_of(output))


def jobs_of(output: bytes) -> tuple[Job, ...]:
    """Processes from the table of `ps`; `npu0pe0-1` is on npu0, and a cell may name several cards.

    Raises ReadError for a table of other headings and where a row cannot be read: it may be about any
    card, and none of them is known to be unused then.
    """
    headings, *lines = lines_of(output) or [[]]
    device, pid, command = (
        next((name for name in names if name in headings), None)
        for names in (("npu", "device"), ("pid",), ("cmd", "command"))
    )
    if output.strip() and (device is None or pid is None):
        raise ReadError("furiosa-smi ps printed no table of processes", code="garbage")
    rows = rows_of(output)
    jobs: list[Job] = []
    for row in rows:
        number = row[pid or ""]
        matches = [
            _CARD_OR_CORES.fullmatch(text) for text in re.split(r"[\s,]+", row[device or ""])
        ]
        cards = {int(match[1]): None for match in matches if match is not None}
        if not (number.isdecimal() and len(number) < 10) or None in matches:
            raise ReadError(f"furiosa-smi ps: {row} cannot be read", code="garbage")
        named = row.get(command or "", "")
        jobs += [Job(number=card, pid=int(number), command=named) for card in cards if int(number)]
    if len(rows) < len(lines):
        raise ReadError("furiosa-smi ps: a row has fewer cells than headings", code="garbage")
    return tuple(jobs)


def _listed(output: bytes) -> list[Fields] | None:
    """The objects of a JSON list; None where there is no list, or one of other things."""
    for document in json_documents(output):
        listed = document if isinstance(document, list) else ()
        objects: list[Fields] = [entry for entry in listed if isinstance(entry, dict)]
        if objects or document == []:
            return objects
    return None


def _states(output: bytes) -> list[Fields]:
    """What `status` says of each card, from its JSON or its table."""
    listed = _listed(output)
    return [_state(block) for block in blocks_of(output)] if listed is None else listed


def _state(block: Mapping[str, str]) -> Fields:
    """A row of the table, in the keys of the JSON; only cores in use have a share."""
    fields: dict[str, object] = {"device": block.get("device", "")}
    if liveness := block.get("liveness", ""):
        fields["liveness"] = liveness
    memory = next(
        (match for key in ("memory", "dram") if (match := _MEMORY.search(block.get(key, "")))), None
    )
    if memory is not None:
        unit = memory[2].lstrip("0123456789. ")
        fields["memory"] = {"DRAM": {"used_size": f"{memory[1]} {unit}", "total_size": memory[2]}}
    shares = {int(core): share for core, share in _CORE.findall(block.get("core utilization", ""))}
    states = {int(core): state for core, state in _LISTED.findall(block.get("cores", ""))}
    fields["pe_utilizations"] = [
        {
            "pe_core": core,
            **({"pe_occupancy": states[core] == "occupied"} if core in states else {}),
            **({"pe_utilization": f"{shares[core]}%"} if core in shares else {}),
        }
        for core in sorted(shares.keys() | states.keys())
    ]
    fields[UNLISTED] = not shares.keys() <= states.keys()
    return fields


def _by_key(row: Mapping[str, str]) -> Fields:
    return {_HEADINGS[heading]: cell for heading, cell in row.items() if heading in _HEADINGS}


def _number(fields: Fields) -> int | None:
    names: Iterable[object] = (fields.get("dev_name"), fields.get("device"))
    for name in names:
        match = _NAME.fullmatch(name.strip()) if isinstance(name, str) else None
        if match is not None:
            return int(match[1])
    return None


def _card(number: int, info: Fields, status: Fields, absence: Absence) -> Card:
    bus = info.get("pci_bdf")
    address = normal_pci_bus_id(bus) if isinstance(bus, str) and ":" in bus else None
    return Card(number=number, pci_bus_id=address, info=info, status=status, absence=absence)
