"""What registers of the firmware say, where words of tt-smi are not to be believed. Pure.

tt-smi prints numbers for registers that the firmware does not report: 0, and 10 kV. It also calls memory
untrained that it knows nothing of, or whose firmware is newer than itself.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from accelwatch_tenstorrent.snapshot import Chip

# Of which register tt-smi makes a number; of the limits it makes 0 where the firmware reports none.
SOURCES: Mapping[str, str] = MappingProxyType(
    {
        "voltage": "VCORE",
        "current": "TDC",
        "power": "TDP",
        "board_power": "INPUT_POWER",
        "aiclk": "AICLK",
        "asic_temperature": "ASIC_TEMPERATURE",
        "pcie_speed": "",
        "pcie_width": "",
    }
)
_CHANNELS = 8
_WORMHOLE_TRAINED, _WORMHOLE_FAILED = 2, 1
_WORMHOLE_CHANNELS = 6


def is_reported(chip: Chip, key: str) -> bool:
    """Whether the firmware reports what tt-smi makes this number of."""
    name = SOURCES.get(key, "")
    return not name or name not in chip.registers or chip.register(name) is not None


def silent(chip: Chip) -> bool:
    """Whether the firmware reports nothing at all: tt-smi has read, and each register is null."""
    return bool(chip.registers) and all(value is None for value in chip.registers.values())


def dram_trained(chip: Chip, architecture: str | None) -> bool | None:
    """Whether all channels of the memory work; None where nobody knows.

    Bits as tt-smi documents them: of Wormhole a digit a channel (2 passed, 1 failed), of Blackhole two
    bits a channel, trained and error, and since bundle 19.7 two more of a self-test above them.
    """
    status = chip.register("DDR_STATUS")
    if status is None:
        trained = chip.board.get("dram_status")
        has_status = "DDR_STATUS" not in chip.registers and isinstance(trained, bool)
        return trained if has_status else None
    if architecture == "wormhole":
        digits = [status >> 4 * at & 0xF for at in range(_WORMHOLE_CHANNELS)]
        return all(digit == _WORMHOLE_TRAINED for digit in digits)
    if architecture == "blackhole":
        return _blackhole(status, chip.register("ENABLED_GDDR"))
    trained = chip.board.get("dram_status")
    return trained if isinstance(trained, bool) else None


def _blackhole(status: int, enabled: int | None) -> bool:
    mask = 0xFF if enabled is None or not enabled else enabled
    for channel in range(_CHANNELS):
        if not mask >> channel & 1:
            continue
        trained, error = status >> 2 * channel & 1, status >> 2 * channel + 1 & 1
        failed_test = status >> 16 + 2 * channel + 1 & 1
        if not trained or error or failed_test:
            return False
    return True


def inlet_celsius(chip: Chip, architecture: str | None) -> int | None:
    """Of Wormhole's board sensors that at the inlet; None where there is none."""
    temperature = chip.register("BOARD_TEMPERATURE")
    if architecture != "wormhole" or not temperature:
        return None
    return temperature >> 16 & 0xFF or None


def heartbeat(chip: Chip) -> int | None:
    """What the firmware counts up while it lives; Wormhole's two controllers count apart."""
    timer = chip.register("TIMER_HEARTBEAT")
    if timer is not None:
        return timer
    counters: list[Any] = [chip.register(name) for name in ("ARC0_HEALTH", "ARC3_HEALTH")]
    counts = [count for count in counters if count is not None]
    return sum(counts) if counts else None
