"""What `tt-smi -s` prints, parsed. Pure; a field of another type than expected is not there.

Log lines of the library below it may stand before the JSON, and say which chips have a stuck Ethernet
core. A remote chip (the second of an n300) has no PCI id: it is listed without one.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from accelwatch.base.errors import ReadError
from accelwatch.schema.device import normal_pci_bus_id
from accelwatch.system.processes.printed import json_documents

Fields = Mapping[str, Any]
_MAX_CHIPS = 1024
_STUCK = re.compile(r"ETH core heartbeat check failed on device ASIC ID: (\d{1,20})\b")
_BUS = re.compile(r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.IGNORECASE)
_HEX = re.compile(r"(?:0x)?([0-9a-f]{1,16})", re.IGNORECASE)
_ABSENT = frozenset({"", "n/a", "none", "null", "unknown"})
# Before each register but BOARD_ID in releases of tt-smi of 2024, which write `TTKMD 1.27.1` too.
_OLD_REGISTER = "SMBUS_TX_"
_DRIVER = re.compile(r"^TT-?KMD\s*")


class Chip(msgspec.Struct, frozen=True, kw_only=True):
    """One chip as listed."""

    # Index in the list among its kind: those on the bus, or those that are not.
    at: int
    # None of a remote chip.
    pci_bus_id: str | None
    board: Fields = {}
    telemetry: Fields = {}
    firmwares: Fields = {}
    limits: Fields = {}
    # `smbus_telem`: what the firmware reports, in hexadecimal.
    registers: Fields = {}
    ethernet_stuck: bool = False
    # As the PCI device id says; None of a remote chip.
    architecture: str | None = None

    @property
    def board_type(self) -> str | None:
        """`n300 L`, `tt-galaxy-wh L`, `tt-galaxy-bh`."""
        return text_of(self.board, "board_type")

    @property
    def serial(self) -> str | None:
        """Of the board, 16 digits; all chips of a Galaxy tray share one."""
        number = hexadecimal(self.board.get("board_id"))
        return None if not number else f"{number:016x}"

    @property
    def asic_id(self) -> str | None:
        """Of the chip, 16 digits; only newer firmware has it."""
        high, low = (self.register(f"ASIC_ID_{half}") for half in ("HIGH", "LOW"))
        return None if high is None or low is None or not high | low else f"{high:08x}{low:08x}"

    def register(self, name: str) -> int | None:
        """A number that the firmware reports; None when it does not."""
        return hexadecimal(self.registers.get(name))


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """All that was listed."""

    driver_version: str | None = None
    chips: tuple[Chip, ...] = ()
    # By PCI id: chips that were queried by themselves, and why there is no answer.
    failures: Mapping[str, ReadError] = {}


def text_of(fields: Fields, key: str) -> str | None:
    """A text; None when it is missing or says that there is none."""
    value = fields.get(key)
    plain = value.strip() if isinstance(value, str) else ""
    return None if plain.lower() in _ABSENT else plain


def hexadecimal(value: object) -> int | None:
    """A number written in hexadecimal, with or without 0x."""
    match = _HEX.fullmatch(value.strip()) if isinstance(value, str) else None
    return None if match is None else int(match[1], 16)


def parse(output: bytes) -> Snapshot:
    """The snapshot. Raises ReadError when there is none in the output."""
    documents = (document for document in json_documents(output) if isinstance(document, dict))
    document = next(
        (document for document in documents if isinstance(document.get("device_info"), list)), None
    )
    if document is None:
        raise ReadError("tt-smi -s printed no JSON with a list of devices", code="garbage")
    listed = document["device_info"]
    stuck = {
        f"{int(match[1]):016x}" for match in _STUCK.finditer(output.decode("utf-8", "replace"))
    }
    driver = text_of(_section(document, "host_info"), "Driver")
    return Snapshot(
        driver_version=None if driver is None else _DRIVER.sub("", driver) or None,
        chips=_chips(listed[:_MAX_CHIPS], stuck),
    )


def _chips(listed: list[object], stuck: set[str]) -> tuple[Chip, ...]:
    """A PCI id that is listed twice counts once."""
    local: dict[str, Chip] = {}
    remote: list[Chip] = []
    for fields in listed:
        if not isinstance(fields, dict) or not _section(fields, "board_info"):
            continue
        bus = text_of(_section(fields, "board_info"), "bus_id")
        if bus is None:
            remote.append(_chip(fields, len(remote), None, stuck))
        elif _BUS.fullmatch(bus) is not None and (address := normal_pci_bus_id(bus)) not in local:
            local[address] = _chip(fields, len(local), address, stuck)
    return (*local.values(), *remote)


def _chip(fields: Fields, at: int, bus: str | None, stuck: set[str]) -> Chip:
    telem = _section(fields, "smbus_telem")
    chip = Chip(
        at=at,
        pci_bus_id=bus,
        board=_section(fields, "board_info"),
        telemetry=_section(fields, "telemetry"),
        firmwares=_section(fields, "firmwares"),
        limits=_section(fields, "limits"),
        registers={name.removeprefix(_OLD_REGISTER): value for name, value in telem.items()},
    )
    return msgspec.structs.replace(chip, ethernet_stuck=chip.asic_id in stuck)


def _section(fields: Fields, key: str) -> Fields:
    section = fields.get(key)
    return section if isinstance(section, dict) else {}
