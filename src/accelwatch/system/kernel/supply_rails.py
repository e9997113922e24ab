"""Supply rails of a Tegra's module: INA3221 monitors, in hwmon's form and in NVIDIA's older one."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected, Reading
from accelwatch.system.kernel import sysfs, tegra

_OWN = frozenset({"gpu", "vdd_gpu", "vdd_sys_gpu", "pom_5v_gpu"})
_WITH_OTHERS = frozenset({"vdd_gpu_soc", "vdd_cpu_gpu_cv", "pom_5v_cpu_gpu_cv"})
_LABEL = re.compile(r"in(\d+)_label")
_NAME = re.compile(r"rail_name_(\d+)")


class Rail(NamedTuple):
    """One channel: volts, amperes and watts, each absent with its reason."""

    name: str
    volts: float | Absence
    amperes: float | Absence
    watts: float | Absence


def rails(root: Path, others: Iterable[Rail] = ()) -> dict[str, Rail]:
    """All channels that a name has been given to; of `others` those whose watts are not known here."""
    by_name = {rail.name: rail for rail in (*_of_hwmon(root), *_of_iio(root))}
    for rail in others:
        existing = by_name.get(rail.name)
        if existing is None:
            by_name[rail.name] = rail
        elif isinstance(existing.watts, Absence):
            by_name[rail.name] = existing._replace(watts=rail.watts)
    return by_name


def _of_hwmon(root: Path) -> Iterator[Rail]:
    for folder in sysfs.list_dir(root / "sys/class/hwmon"):
        if sysfs.read_text(folder / "name") != "ina3221":
            continue
        for path in sysfs.list_dir(folder):
            match, name = _LABEL.fullmatch(path.name), _read_label(path)
            if match and name:
                volts = _thousandths(folder / f"in{match[1]}_input")
                amperes = _thousandths(folder / f"curr{match[1]}_input")
                if isinstance(volts, Absence) or isinstance(amperes, Absence):
                    lacking = volts if isinstance(volts, Absence) else amperes
                    assert isinstance(lacking, Absence)
                    yield Rail(name, volts, amperes, lacking)
                else:
                    yield Rail(name, volts, amperes, volts * amperes)


def _of_iio(root: Path) -> Iterator[Rail]:
    for chip in sysfs.list_dir(root / "sys/bus/i2c/drivers/ina3221x"):
        for folder in sysfs.list_dir(chip):
            if not folder.name.startswith("iio"):
                continue
            for path in sysfs.list_dir(folder):
                match, name = _NAME.fullmatch(path.name), _read_label(path)
                if match and name:
                    volts = _thousandths(folder / f"in_voltage{match[1]}_input")
                    amperes = _thousandths(folder / f"in_current{match[1]}_input")
                    yield Rail(
                        name, volts, amperes, _thousandths(folder / f"in_power{match[1]}_input")
                    )


def collect_rails(out: Collected, by_name: Mapping[str, Rail]) -> str:
    """Every rail, and as power the one that feeds the GPU; the note says that it feeds others too."""
    for rail in by_name.values():
        out.put_or_miss("power_component_watts", rail.watts, rail.name)
        out.put_or_miss("voltage_volts", rail.volts, rail.name)
        out.put_or_miss("current_amperes", rail.amperes, rail.name)
    own = next((rail for name, rail in by_name.items() if name in _OWN), None)
    shared = next((rail for name, rail in by_name.items() if name in _WITH_OTHERS), None)
    feeding = own or shared
    if feeding is None:
        out.miss("power_watts", Absence.UNSUPPORTED)
        return ""
    out.put_or_miss("power_watts", feeding.watts)
    if own is None and not isinstance(feeding.watts, Absence):
        return f"power_watts is of the rail {feeding.name}, which feeds more than the GPU"
    return ""


def with_rails(reading: Reading, root: Path) -> Reading:
    """The reading of a GPU on a Tegra with what the module's rails draw; what it has already stays.

    As on Thor, whose GPU NVML reads without its power. On any other machine the reading is as it was.
    """
    if tegra.soc(root) is None:
        return reading
    out = Collected(reading.device_id)
    note = collect_rails(out, rails(root))
    added = {series: value for series, value in out.values.items() if series not in reading.values}
    uses_rail = ("power_watts",) in added
    values = {**reading.values, **added}
    reasons = {**reading.absent, **{s: why for s, why in out.absent.items() if len(s) > 1}}
    return msgspec.structs.replace(
        reading,
        values=values,
        absent={series: why for series, why in reasons.items() if series not in values},
        sources={**reading.sources, **{series[0]: "hwmon" for series in added}},
        notes=(*reading.notes, note) if note and uses_rail else reading.notes,
    )


def _read_label(path: Path) -> str | None:
    text = sysfs.read_text(path)
    return None if isinstance(text, Absence) else rail_name(text)


def rail_name(label: str) -> str | None:
    """The name as a label; None for what is no rail."""
    if label.upper() in ("", "NC", "N/A"):
        return None
    name = re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")[:40]
    return None if name in ("", "sum_of_shunt_voltages") else name


def _thousandths(path: Path) -> float | Absence:
    raw = sysfs.read_int(path)
    if isinstance(raw, Absence):
        return raw
    return raw / 1000 if raw >= 0 else Absence.ERROR
