"""Heat, power limits, fans and voltage from a card's hwmon directory, found by its name.

Sensors are identified by their label: their numbers differ from card to card. Attributes:
Documentation/ABI/testing/sysfs-driver-intel-xe-hwmon and sysfs-driver-intel-i915-hwmon.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch.system.kernel import sysfs
from accelwatch_intel.card import GPU_DRIVERS, Card

# hwmon label to our sensor; of several that share one the warmest counts. i915 has no label.
#
# The single memory channels (`vram_ch_N`) are left out: `vram` is the warmest of them.
_SENSORS = {"": "gpu", "pkg": "gpu", "vram": "memory", "mctrl": "soc", "pcie": "soc"}

_ATTRIBUTE = re.compile(r"(temp|fan|in|energy|power)(\d+)_")

# Celsius that silicon bears; a number beyond is a broken sensor.
_COLDEST, _HOTTEST = -50.0, 150.0

# A fan may pass what the driver calls its maximum, but not by far.
_FASTEST_RPM, _MOST_RATIO = 50_000, 2
MOST_WATTS = 10_000

# Labels of what measures a whole card, the widest first.
_REACH = ("card", "", "pkg")

# Our limit to the power*_ attributes that have it, the better first.
_POWER_LIMITS = (("enforced", ("max", "cap")), ("default", ("rated_max",)), ("critical", ("crit",)))

# temp*_ attribute to our kind. `max` lies far below what a card bears (60 on a recorded B580).
_TEMPERATURE_LIMITS = (("crit", "slowdown"), ("emergency", "shutdown"), ("max", "target"))


class Sensors(msgspec.Struct, frozen=True):
    """A hwmon directory and what is in it: kind of sensor to channel number to label."""

    folder: Path
    labels: Mapping[str, Mapping[int, str]]
    # Channel number to the largest speed in rpm, where the driver reports it.
    fan_tops: Mapping[int, int]

    def of(self, kind: str) -> Mapping[int, str]:
        """Channels of a kind."""
        return self.labels.get(kind, {})


def find(card: Card) -> Sensors | None:
    """The sensors of the card."""
    return _find(card, GPU_DRIVERS)


def find_tile(card: Card, tile: int) -> Sensors | None:
    """The sensors that i915 gives each tile."""
    return _find(card, (f"i915_gt{tile}",))


def _find(card: Card, names: tuple[str, ...]) -> Sensors | None:
    for folder in sysfs.list_dir(card.folder / "hwmon"):
        if sysfs.read_text(folder / "name") in names:
            return _scan(folder)
    return None


def _scan(folder: Path) -> Sensors:
    labels: dict[str, dict[int, str]] = {}
    tops: dict[int, int] = {}
    for entry in sysfs.list_dir(folder):
        match = _ATTRIBUTE.match(entry.name)
        if match is None or int(match[2]) in labels.get(match[1], {}):
            continue
        label = sysfs.read_text(folder / f"{match[1]}{match[2]}_label")
        number = int(match[2])
        labels.setdefault(match[1], {})[number] = "" if isinstance(label, Absence) else label
    for number in labels.get("fan", {}):
        top = sysfs.read_int(folder / f"fan{number}_max")
        if isinstance(top, int) and top > 0:
            tops[number] = top
    return Sensors(folder, labels, tops)


def scaled(path: Path, divisor: float) -> float | Absence:
    """A number of a file in base units, or why there is none."""
    value = sysfs.read_int(path)
    return value if isinstance(value, Absence) else value / divisor


def _celsius(path: Path) -> float | Absence:
    value = scaled(path, 1e3)
    if isinstance(value, float) and not _COLDEST <= value <= _HOTTEST:
        return Absence.ERROR
    return value


def record(out: Collected, value: float | Absence, key: str, *labels: str) -> None:
    """Record a value, or why there is none."""
    if isinstance(value, Absence):
        out.miss(key, value, *labels)
    else:
        out.put(key, value, *labels)


def read_temperatures(sensors: Sensors, out: Collected) -> None:
    """Temperatures in celsius."""
    for number, label in sensors.of("temp").items():
        if label not in _SENSORS:
            continue
        value = _celsius(sensors.folder / f"temp{number}_input")
        before = out.values.get(("temperature_celsius", _SENSORS[label]))
        if not isinstance(value, Absence) and before is not None:
            value = max(value, before)
        record(out, value, "temperature_celsius", _SENSORS[label])


def read_temperature_limits(sensors: Sensors, out: Collected) -> None:
    """Thresholds in celsius; of several sensors that share a name the lowest counts."""
    for number, label in sensors.of("temp").items():
        for attribute, limit in _TEMPERATURE_LIMITS if label in _SENSORS else ():
            value = _celsius(sensors.folder / f"temp{number}_{attribute}")
            series = ("temperature_limit_celsius", _SENSORS[label], limit)
            if not isinstance(value, Absence):
                out.put(series[0], min(value, out.values.get(series, value)), *series[1:])


def read_fans(sensors: Sensors, out: Collected) -> None:
    """Fan speeds; 0 is real, fans stop at low heat. The ratio needs the driver's own maximum."""
    for number in sensors.of("fan"):
        fan = str(number - 1)
        speed = sysfs.read_int(sensors.folder / f"fan{number}_input")
        if isinstance(speed, int) and not 0 <= speed <= _FASTEST_RPM:
            speed = Absence.ERROR
        record(out, speed, "fan_speed_rpm", fan)
        if isinstance(speed, int) and number in sensors.fan_tops:
            ratio = speed / sensors.fan_tops[number]
            record(out, ratio if ratio <= _MOST_RATIO else Absence.ERROR, "fan_speed_ratio", fan)


def read_voltages(sensors: Sensors, out: Collected) -> None:
    """Voltage of each rail, from millivolts."""
    for number, label in sensors.of("in").items():
        rail = "package" if label == "pkg" else "gpu"
        value = scaled(sensors.folder / f"in{number}_input", 1e3)
        if isinstance(value, float) and value < 0:
            value = Absence.ERROR
        record(out, value, "voltage_volts", rail)


def read_power_limits(sensors: Sensors, out: Collected) -> None:
    """Power limits in watts of the card, else of the package; 0 means off or unknown.

    In force is the sustained limit (`max`, PL1), without one the burst limit (`cap`, PL2). `crit` (I1)
    is the limit at which the hardware itself cuts the clocks at once.
    """
    labels = sensors.of("power")
    for number in by_reach(labels):
        for limit, attributes in _POWER_LIMITS:
            _read_power_limit(sensors, number, limit, attributes, out)


def _read_power_limit(
    sensors: Sensors, number: int, limit: str, attributes: tuple[str, ...], out: Collected
) -> None:
    """The first of a channel's attributes that says something, where no wider channel has."""
    for attribute in attributes:
        if ("power_limit_watts", limit) in out.values:
            return
        value = scaled(sensors.folder / f"power{number}_{attribute}", 1e6)
        if isinstance(value, float) and 0 < value <= MOST_WATTS:
            out.put("power_limit_watts", value, limit)


def by_reach(labels: Mapping[int, str]) -> list[int]:
    """Channels that stand for the whole card, best first: labelled `card`, unlabelled, the package."""
    card_channels = [number for number, label in labels.items() if label in _REACH]
    return sorted(card_channels, key=lambda number: (_REACH.index(labels[number]), number))
