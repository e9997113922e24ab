"""Chips through pyluwen, the vendor's library for Python, for machines that have it and no tt-smi.

Each chip is read by a process of its own (`library_process.py`): one that hangs costs itself. The
library gives 0 for what the firmware does not report, so that 0 is no number here; the units are those
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

from accelwatch.backend.kit.vendor_program import output_of
from accelwatch.base.errors import DeviceTimeout, ReadError
from accelwatch_tenstorrent.snapshot import Chip, Fields, Snapshot

NAME = "pyluwen"
_TIMEOUT_S = 5.0
_AT_ONCE = 8
_ALL_BITS_SET = 0xFFFF_FFFF
# By the part number within a board's serial.
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
# By the library's names; None of what the firmware does not report.
Registers = Mapping[str, int | None]


class ChipAddress(NamedTuple):
    """A chip to read."""

    # Of /dev/tenstorrent/N.
    number: int
    pci_bus_id: str
    architecture: str | None


def is_installed() -> bool:
    """Whether this interpreter could import it; nothing is imported."""
    try:
        return importlib.util.find_spec(NAME) is not None
    except (ImportError, ValueError):
        return False


def snapshot(
    addresses: Sequence[ChipAddress], read_registers: Callable[[int], Registers] | None = None
) -> Snapshot:
    """These chips now, with the failure of each that could not be read; nobody else is touched."""
    read_registers = read_registers or registers_of
    outcomes: dict[str, Chip | ReadError] = {}

    def read(at: int, address: ChipAddress) -> None:
        try:
            outcomes[address.pci_bus_id] = chip_of(at, address, read_registers(address.number))
        except ReadError as error:
            outcomes[address.pci_bus_id] = error

    numbered = list(enumerate(addresses))
    for start in range(0, len(numbered), _AT_ONCE):
        batch = numbered[start : start + _AT_ONCE]
        # Daemons: the process does not wait at its end for a chip that hangs.
        threads = [threading.Thread(target=read, args=entry, daemon=True) for entry in batch]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return Snapshot(
        chips=tuple(chip for chip in outcomes.values() if isinstance(chip, Chip)),
        failures={bus: error for bus, error in outcomes.items() if isinstance(error, ReadError)},
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
        document = json.loads(output)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise ReadError(f"{NAME}, /dev/tenstorrent/{number}: no answer", code="garbage")
    listed = document.get("registers")
    if not isinstance(listed, dict):
        message = str(document.get("error", "no answer"))[:300]
        raise ReadError(f"{NAME}, /dev/tenstorrent/{number}: {message}", code="library")
    return {name: _register_value(value) for name, value in listed.items()}


def _register_value(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 < value < 1 << 64 and value != _ALL_BITS_SET else None


def chip_of(at: int, address: ChipAddress, registers: Registers) -> Chip:
    """The chip as tt-smi would have listed it. Pure."""
    board, bundle = registers.get("board_id"), registers.get("fw_bundle_version")
    version = None if bundle is None else ".".join(str(byte) for byte in bundle.to_bytes(8)[4:])
    return Chip(
        architecture=address.architecture,
        at=at,
        pci_bus_id=address.pci_bus_id,
        board={
            "board_id": None if board is None else f"{board:016x}",
            "board_type": None if board is None else _BOARDS.get(board >> 36 & 0xFFFFF),
        },
        telemetry=_telemetry(registers, address.architecture),
        firmwares={"fw_bundle_version": version},
        limits=_limits(registers, address.architecture),
        registers={
            name.upper(): None if value is None else f"{value:x}"
            for name, value in registers.items()
        },
    )


def _telemetry(registers: Registers, architecture: str | None) -> Fields:
    millivolts = registers.get("vcore")
    return {
        "voltage": None if millivolts is None else millivolts / 1000,
        "current": _low(registers, "tdc"),
        "power": _low(registers, "tdp"),
        "board_power": registers.get("input_power"),
        "aiclk": _low(registers, "aiclk"),
        "asic_temperature": _celsius(registers.get("asic_temperature"), architecture),
    }


def _celsius(raw: int | None, architecture: str | None) -> float | None:
    """Of Wormhole sixteenths of a degree, of Blackhole 1/65536 with a sign."""
    if raw is None:
        return None
    if architecture == "wormhole":
        return (raw & 0xFFFF) / 16
    if architecture == "blackhole":
        return (raw - (1 << 32) if raw >> 31 & 1 else raw) / 65536
    return None


def _limits(registers: Registers, architecture: str | None) -> Fields:
    """Wormhole has them in the upper halves of what they limit, Blackhole apart."""
    if architecture == "wormhole":
        return {
            "tdp_limit": _high(registers, "tdp"),
            "asic_fmax": _high(registers, "aiclk"),
            "thm_limit": _low(registers, "thm_limits"),
        }
    return {
        "tdp_limit": registers.get("tdp_limit_max"),
        "asic_fmax": registers.get("aiclk_limit_max"),
        "thm_limit": registers.get("thm_limits"),
        "board_power_limit": registers.get("board_power_limit"),
    }


def _low(registers: Registers, name: str) -> int | None:
    value = registers.get(name)
    return None if value is None else value & 0xFFFF


def _high(registers: Registers, name: str) -> int | None:
    value = registers.get(name)
    return None if value is None else value >> 16 & 0xFFFF
