"""Chips through pyluwen, the vendor's library for Python, for machines that have it and no tt-smi.

Each chip is read by a process of its own (`library_process.py`): one that hangs costs itself. The
library gives 0 for what the firmware does not tell, so that 0 is no number here; the units are those
that tt-smi makes of the same registers.
"""

import importlib.util
import json
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from accelwatch.backend_kit.vendor_program import output_of
from accelwatch.base.errors import DeviceTimeout, ReadError
from accelwatch_tenstorrent.snapshot import Chip, Fields, Snapshot

NAME = "pyluwen"
_TIMEOUT_S = 5.0
_AT_ONCE = 8
_ALL_ONES = 0xFFFF_FFFF
_BOARDS = MappingProxyType(
    {
        0x14: "n300",
        0x18: "n150",
        0x35: "tt-galaxy-wh",
        0x40: "p150a",
        0x41: "p150b",
        0x42: "p150c",
        0x43: "p100a",
        0x44: "p300b",
        0x45: "p300a",
        0x46: "p300c",
        0x47: "tt-galaxy-bh",
    }
)
"""By the part number within a board's serial."""
Registers = Mapping[str, int | None]
"""By the library's names; None of what the firmware does not tell."""


class Place(NamedTuple):
    """A chip to read."""

    number: int
    """Of /dev/tenstorrent/N."""
    pci_bus_id: str
    architecture: str | None


def is_installed() -> bool:
    """Whether this interpreter could import it; nothing is imported."""
    try:
        return importlib.util.find_spec(NAME) is not None
    except (ImportError, ValueError):
        return False


def snapshot(places: Sequence[Place], ask: Callable[[int], Registers] | None = None) -> Snapshot:
    """These chips now, with the failure of each that could not be read; nobody else is touched."""
    ask = ask or registers_of
    told: dict[str, Chip | ReadError] = {}

    def read(at: int, place: Place) -> None:
        try:
            told[place.pci_bus_id] = chip_of(at, place, ask(place.number))
        except ReadError as error:
            told[place.pci_bus_id] = error

    numbered = list(enumerate(places))
    for begin in range(0, len(numbered), _AT_ONCE):
        batch = numbered[begin : begin + _AT_ONCE]
        # Daemons: nobody waits for a chip that hangs when the process ends.
        threads = [threading.Thread(target=read, args=one, daemon=True) for one in batch]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return Snapshot(
        chips=tuple(chip for chip in told.values() if isinstance(chip, Chip)),
        failures={bus: error for bus, error in told.items() if isinstance(error, ReadError)},
    )


def registers_of(number: int, timeout_s: float = _TIMEOUT_S) -> Registers:
    """What the library reads of one chip. Raises ReadError."""
    script = Path(__file__).with_name("library_process.py")
    try:
        output = output_of(
            Path(sys.executable), "-P", str(script), str(number), timeout_s=timeout_s
        )
    except DeviceTimeout as error:
        raise DeviceTimeout(
            f"{NAME} did not answer for /dev/tenstorrent/{number} within {timeout_s:g} s",
            code="timeout",
        ) from error
    except ReadError as error:
        raise ReadError(f"{NAME}, /dev/tenstorrent/{number}: {error}", code=error.code) from error
    return parse(output, number)


def parse(output: bytes, number: int) -> Registers:
    """The line of that process. Raises ReadError with what the library said."""
    try:
        told = json.loads(output)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise ReadError(f"{NAME}, /dev/tenstorrent/{number}: no answer", code="garbage")
    listed = told.get("registers")
    if not isinstance(listed, dict):
        said = str(told.get("error", "no answer"))[:300]
        raise ReadError(f"{NAME}, /dev/tenstorrent/{number}: {said}", code="library")
    return {name: _told(value) for name, value in listed.items()}


def _told(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 < value < 1 << 64 and value != _ALL_ONES else None


def chip_of(at: int, place: Place, told: Registers) -> Chip:
    """The chip as tt-smi would have listed it. Pure."""
    board, bundle = told.get("board_id"), told.get("fw_bundle_version")
    version = None if bundle is None else ".".join(str(part) for part in bundle.to_bytes(8)[4:])
    return Chip(
        architecture=place.architecture,
        at=at,
        pci_bus_id=place.pci_bus_id,
        board={
            "board_id": None if board is None else f"{board:016x}",
            "board_type": None if board is None else _BOARDS.get(board >> 36 & 0xFFFFF),
        },
        telemetry=_telemetry(told, place.architecture),
        firmwares={"fw_bundle_version": version},
        limits=_limits(told, place.architecture),
        registers={
            name.upper(): None if value is None else f"{value:x}" for name, value in told.items()
        },
    )


def _telemetry(told: Registers, architecture: str | None) -> Fields:
    millivolts = told.get("vcore")
    return {
        "voltage": None if millivolts is None else millivolts / 1000,
        "current": _low(told, "tdc"),
        "power": _low(told, "tdp"),
        "board_power": told.get("input_power"),
        "aiclk": _low(told, "aiclk"),
        "asic_temperature": _celsius(told.get("asic_temperature"), architecture),
    }


def _celsius(told: int | None, architecture: str | None) -> float | None:
    """Of Wormhole sixteenths of a degree, of Blackhole 1/65536 with a sign."""
    if told is None:
        return None
    if architecture == "wormhole":
        return (told & 0xFFFF) / 16
    if architecture == "blackhole":
        return (told - (1 << 32) if told >> 31 & 1 else told) / 65536
    return None


def _limits(told: Registers, architecture: str | None) -> Fields:
    """Wormhole has them in the upper halves of what they limit, Blackhole apart."""
    if architecture == "wormhole":
        return {
            "tdp_limit": _high(told, "tdp"),
            "asic_fmax": _high(told, "aiclk"),
            "thm_limit": _low(told, "thm_limits"),
        }
    return {
        "tdp_limit": told.get("tdp_limit_max"),
        "asic_fmax": told.get("aiclk_limit_max"),
        "thm_limit": told.get("thm_limits"),
        "board_power_limit": told.get("board_power_limit"),
    }


def _low(told: Registers, name: str) -> int | None:
    value = told.get(name)
    return None if value is None else value & 0xFFFF


def _high(told: Registers, name: str) -> int | None:
    value = told.get(name)
    return None if value is None else value >> 16 & 0xFFFF
