"""Heat, energy, power limits, fans and voltage from a card's hwmon directory, found by its name.

Sensors are told apart by their label: their numbers differ from card to card. Attributes:
Documentation/ABI/testing/sysfs-driver-intel-xe-hwmon and sysfs-driver-intel-i915-hwmon.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from accelwatch import sysfs
from accelwatch.schema.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch_intel.card import GPU_DRIVERS, Card
from accelwatch_intel.rates import Rates

_SENSORS = {"": "gpu", "pkg": "gpu", "vram": "memory", "mctrl": "soc", "pcie": "soc"}
"""hwmon label to our sensor; of several that share one the warmest counts. i915 has no label.

The single memory channels (`vram_ch_N`) are left out: `vram` is the warmest of them.
"""

_ATTRIBUTE = re.compile(r"(temp|fan|in|energy|power)(\d+)_")

_COLDEST, _HOTTEST = -50.0, 150.0
"""Celsius that silicon bears; a number beyond is a broken sensor."""

_FASTEST_RPM, _MOST_RATIO = 50_000, 2
"""A fan may pass what the driver calls its maximum, but not by far."""
_MOST_WATTS = 10_000

_TEMPERATURE_LIMITS = (("crit", "slowdown"), ("emergency", "shutdown"), ("max", "target"))
"""temp*_ attribute to our kind. `max` lies far below what a card bears (60 on a recorded B580)."""


class Sensors(msgspec.Struct, frozen=True):
    """A hwmon directory and what is in it: kind of sensor to channel number to label."""

    folder: Path
    labels: Mapping[str, Mapping[int, str]]
    fan_tops: Mapping[int, int]
    """Channel number to the largest speed in rpm, where the driver tells it."""

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
            return _look(folder)
    return None


def _look(folder: Path) -> Sensors:
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


def _scaled(path: Path, divisor: float) -> float | Absence:
    value = sysfs.read_int(path)
    return value if isinstance(value, Absence) else value / divisor


def _celsius(path: Path) -> float | Absence:
    value = _scaled(path, 1e3)
    if isinstance(value, float) and not _COLDEST <= value <= _HOTTEST:
        return Absence.ERROR
    return value


def _put(out: Collected, value: float | Absence, key: str, *labels: str) -> None:
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
        _put(out, value, "temperature_celsius", _SENSORS[label])


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
        _put(out, speed, "fan_speed_rpm", fan)
        if isinstance(speed, int) and number in sensors.fan_tops:
            ratio = speed / sensors.fan_tops[number]
            _put(out, ratio if ratio <= _MOST_RATIO else Absence.ERROR, "fan_speed_ratio", fan)


def read_voltages(sensors: Sensors, out: Collected) -> None:
    """Voltage of each rail, from millivolts."""
    for number, label in sensors.of("in").items():
        rail = "package" if label == "pkg" else "gpu"
        value = _scaled(sensors.folder / f"in{number}_input", 1e3)
        if isinstance(value, float) and value < 0:
            value = Absence.ERROR
        _put(out, value, "voltage_volts", rail)


def read_power_limits(sensors: Sensors, out: Collected) -> None:
    """Power limits in watts of the card, else of the package; 0 means off or unknown.

    In force is the sustained limit (`max`, PL1), without one the burst limit (`cap`, PL2).
    """
    number = _whole_card(sensors.of("power"))
    if number is None:
        return
    for limit, attributes in (("enforced", ("max", "cap")), ("default", ("rated_max",))):
        for attribute in attributes:
            value = _scaled(sensors.folder / f"power{number}_{attribute}", 1e6)
            if isinstance(value, float) and 0 < value <= _MOST_WATTS:
                out.put("power_limit_watts", value, limit)
                break


def _whole_card(labels: Mapping[int, str]) -> int | None:
    """The channel that stands for the whole card: labelled `card`, or unlabelled, else the package."""
    ranked = sorted(labels, key=lambda number: (_rank(labels[number]), number))
    return ranked[0] if ranked else None


def _rank(label: str) -> int:
    return {"card": 0, "": 1, "pkg": 2}.get(label, 3)


def read_energy(
    sensors: Sensors, rates: Rates, now: float, out: Collected, *, detail: bool
) -> None:
    """Energy counter of the whole card and the power it means; with `detail` that of the package too.

    Neither driver has a power reading: it is the energy since the last reading over the time. The
    first reading has none, and a counter that stands still is an error, for a card always draws some.
    """
    labels = sensors.of("energy")
    whole = _whole_card(labels)
    if whole is not None:
        joules = _joules(sensors, whole)
        _put(out, joules, "energy_joules_total", "hardware")
        _put(out, _power(f"{sensors.folder}/{whole}", joules, rates, now), "power_watts")
    if not detail:
        return
    for number, label in labels.items():
        if label == "pkg" and number != whole:
            joules = _joules(sensors, number)
            watts = _power(f"{sensors.folder}/{number}", joules, rates, now)
            _put(out, watts, "power_component_watts", "package")


def _joules(sensors: Sensors, number: int) -> float | Absence:
    value = _scaled(sensors.folder / f"energy{number}_input", 1e6)
    return Absence.ERROR if isinstance(value, float) and value < 0 else value


def _power(name: str, joules: float | Absence, rates: Rates, now: float) -> float | Absence:
    if isinstance(joules, Absence):
        return joules
    watts = rates.per_second(name, joules, now)
    if watts is None:
        return Absence.NOT_COLLECTED
    if watts == 0:
        return rates.still
    return watts if watts <= _MOST_WATTS else Absence.ERROR
