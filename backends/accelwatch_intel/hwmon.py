"""Heat, energy, power limits, fans and voltage from a card's hwmon directory, found by its name.

Sensors are told apart by their label: their numbers differ from card to card. Attributes:
Documentation/ABI/testing/sysfs-driver-intel-xe-hwmon and sysfs-driver-intel-i915-hwmon.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from accelwatch import sysfs
from accelwatch.schema.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch_intel.card import GPU_DRIVERS, Card
from accelwatch_intel.rates import Rates

_SENSORS = {"pkg": "gpu", "vram": "memory", "mctrl": "memory_controller", "pcie": "pcie"}
"""hwmon label to our sensor; a temperature without a label is the GPU's (i915)."""

_CHANNEL = re.compile(r"vram_ch_(\d+)$")
_ATTRIBUTE = re.compile(r"(temp|fan|in|energy|power)(\d+)_")

_TEMPERATURE_LIMITS = (("crit", "slowdown"), ("emergency", "shutdown"), ("max", "target"))
"""temp*_ attribute to our kind. `max` lies far below what a card bears (60 on a recorded B580)."""

_POWER_LIMITS = (
    ("max", "enforced"),
    ("cap", "burst"),
    ("rated_max", "default"),
    ("crit", "critical"),
)
"""power*_ attribute to our kind: PL1, PL2, the rated power, and the peak the supply may see (I1)."""

Channels = Mapping[str, Mapping[int, str]]
"""Kind of sensor to channel number to label (empty without one)."""


def find(card: Card) -> Path | None:
    """The card's hwmon directory."""
    for folder in sysfs.list_dir(card.folder / "hwmon"):
        if sysfs.read_text(folder / "name") in GPU_DRIVERS:
            return folder
    return None


def find_tile(card: Card, tile: int) -> Path | None:
    """The hwmon directory that i915 makes for each tile (`i915_gt0`)."""
    for folder in sysfs.list_dir(card.folder / "hwmon"):
        if sysfs.read_text(folder / "name") == f"i915_gt{tile}":
            return folder
    return None


def channels(folder: Path) -> dict[str, dict[int, str]]:
    """Which channels of each kind there are, with their labels."""
    found: dict[str, dict[int, str]] = {}
    for entry in sysfs.list_dir(folder):
        match = _ATTRIBUTE.match(entry.name)
        if match:
            label = sysfs.read_text(folder / f"{match[1]}{match[2]}_label")
            found.setdefault(match[1], {})[int(match[2])] = (
                "" if isinstance(label, Absence) else label
            )
    return found


def _scaled(path: Path, divisor: float) -> float | Absence:
    value = sysfs.read_int(path)
    return value if isinstance(value, Absence) else value / divisor


def _put(out: Collected, value: float | Absence, key: str, *labels: str) -> None:
    if isinstance(value, Absence):
        out.miss(key, value, *labels)
    else:
        out.put(key, value, *labels)


def read_temperatures(folder: Path, found: Channels, out: Collected, *, detail: bool) -> None:
    """Temperatures and thresholds in celsius; single memory channels only with `detail`."""
    for number, label in found.get("temp", {}).items():
        channel = _CHANNEL.match(label)
        if channel and not detail:
            continue
        sensor = f"vram{channel[1]}" if channel else _SENSORS.get(label, label or "gpu")
        _put(out, _scaled(folder / f"temp{number}_input", 1e3), "temperature_celsius", sensor)
        if channel:
            continue
        for attribute, limit in _TEMPERATURE_LIMITS:
            value = _scaled(folder / f"temp{number}_{attribute}", 1e3)
            if not isinstance(value, Absence):
                out.put("temperature_limit_celsius", value, sensor, limit)


def read_fans(folder: Path, found: Channels, out: Collected) -> None:
    """Fan speeds; 0 is real, fans stop at low heat. The ratio needs the driver's own maximum."""
    for number in found.get("fan", {}):
        fan = str(number - 1)
        speed = sysfs.read_int(folder / f"fan{number}_input")
        _put(out, speed, "fan_speed_rpm", fan)
        top = sysfs.read_int(folder / f"fan{number}_max")
        if isinstance(speed, int) and isinstance(top, int) and top > 0:
            out.put("fan_speed_ratio", speed / top, fan)


def read_voltages(folder: Path, found: Channels, out: Collected) -> None:
    """Voltage of each rail, from millivolts."""
    for number, label in found.get("in", {}).items():
        rail = "package" if label == "pkg" else label or "gpu"
        _put(out, _scaled(folder / f"in{number}_input", 1e3), "voltage_volts", rail)


def read_power_limits(folder: Path, found: Channels, out: Collected) -> None:
    """Power limits in watts of the card, else of the package. 0 means off or unknown.

    Without a sustained limit the burst limit is the one in force.
    """
    number = _whole_card(found.get("power", {}))
    if number is None:
        return
    limits = {
        limit: value
        for attribute, limit in _POWER_LIMITS
        if not isinstance(value := _scaled(folder / f"power{number}_{attribute}", 1e6), Absence)
        and value > 0
    }
    if "enforced" not in limits and "burst" in limits:
        limits["enforced"] = limits.pop("burst")
    for limit, value in limits.items():
        out.put("power_limit_watts", value, limit)


def _whole_card(labels: Mapping[int, str]) -> int | None:
    """The channel that stands for the whole card: labelled `card`, or unlabelled, else the package."""
    ranked = sorted(labels, key=lambda number: (_rank(labels[number]), number))
    return ranked[0] if ranked else None


def _rank(label: str) -> int:
    return {"card": 0, "": 1, "pkg": 2}.get(label, 3)


def read_energy(
    folder: Path, found: Channels, rates: Rates, now: float, out: Collected, *, detail: bool
) -> None:
    """Energy counter of the whole card and the power it means; with `detail` that of the package too.

    Neither driver has a power reading: it is the energy since the last reading over the time. The
    first reading has none, and a counter that stands still is an error, for a card always draws some.
    """
    labels = found.get("energy", {})
    whole = _whole_card(labels)
    if whole is not None:
        joules = _scaled(folder / f"energy{whole}_input", 1e6)
        _put(out, joules, "energy_joules_total", "hardware")
        _put(out, _power(f"{folder}/{whole}", joules, rates, now), "power_watts")
    if not detail:
        return
    for number, label in labels.items():
        if label == "pkg" and number != whole:
            joules = _scaled(folder / f"energy{number}_input", 1e6)
            watts = _power(f"{folder}/{number}/part", joules, rates, now)
            _put(out, watts, "power_component_watts", "package")


def _power(name: str, joules: float | Absence, rates: Rates, now: float) -> float | Absence:
    if isinstance(joules, Absence):
        return joules
    watts = rates.per_second(name, joules, now)
    if watts is None:
        return Absence.NOT_COLLECTED
    return watts if watts > 0 else Absence.ERROR
