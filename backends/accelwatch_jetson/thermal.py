"""Thermal zones of a Tegra: which sensor each is, and where the kernel slows down or shuts down."""

import re
from pathlib import Path
from typing import NamedTuple

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch.system.kernel import sysfs

# By the zone's type without its ending; others are no part of the GPU's surroundings or dummies, as
# `PMIC-Die` is, which says 100 whatever happens.
_SENSORS = (
    (re.compile(r"gpu"), "gpu"),
    (re.compile(r"tj"), "junction"),
    (re.compile(r"soc\d*"), "soc"),
    (re.compile(r"tboard"), "board"),
)
_SUFFIX = re.compile(r"[-_]?(?:therm(?:al)?|tegra)$")
# A sensor that is switched off says -256000.
_PLAUSIBLE = range(-60_000, 200_000)
_TRIPS = {"passive": "slowdown", "hot": "slowdown", "critical": "shutdown"}


class Zone(NamedTuple):
    """One zone that is a sensor of ours."""

    sensor: str
    celsius: float | Absence
    folder: Path


def zones(root: Path) -> list[Zone]:
    """The zones that are known, in the kernel's order."""
    recognised = []
    for folder in sysfs.list_dir(root / "sys/class/thermal"):
        kind = sysfs.read_text(folder / "type") if folder.name.startswith("thermal_zone") else ""
        sensor = None if isinstance(kind, Absence) else sensor_of(kind)
        if sensor is not None:
            recognised.append(Zone(sensor, _celsius(folder / "temp"), folder))
    return recognised


def sensor_of(kind: str) -> str | None:
    """What a zone of this type measures; None for what is not shown."""
    stem = _SUFFIX.sub("", kind.strip().lower())
    return next((sensor for form, sensor in _SENSORS if form.fullmatch(stem)), None)


def collect_temperatures(out: Collected, root: Path) -> None:
    """The hottest zone of each sensor, and the lowest limits of the GPU's and the junction's."""
    all_zones = zones(root)
    for sensor in dict.fromkeys(zone.sensor for zone in all_zones):
        answers = [zone.celsius for zone in all_zones if zone.sensor == sensor]
        numbers = [answer for answer in answers if not isinstance(answer, Absence)]
        out.put_or_miss("temperature_celsius", max(numbers) if numbers else answers[0], sensor)
    for zone in all_zones:
        if zone.sensor in ("gpu", "junction"):
            _collect_limits(out, zone)


def _collect_limits(out: Collected, zone: Zone) -> None:
    limits: dict[str, float] = {}
    for path in sysfs.list_dir(zone.folder):
        if not re.fullmatch(r"trip_point_\d+_type", path.name):
            continue
        kind = sysfs.read_text(path)
        limit = None if isinstance(kind, Absence) else _TRIPS.get(kind)
        celsius = _celsius(path.with_name(path.name.replace("_type", "_temp")))
        if limit is not None and not isinstance(celsius, Absence) and celsius > 0:
            limits[limit] = min(celsius, limits.get(limit, celsius))
    for limit, celsius in limits.items():
        out.put("temperature_limit_celsius", celsius, zone.sensor, limit)


def _celsius(path: Path) -> float | Absence:
    raw = sysfs.read_int(path)
    if isinstance(raw, Absence):
        return raw
    return raw / 1000 if raw in _PLAUSIBLE else Absence.UNSUPPORTED
