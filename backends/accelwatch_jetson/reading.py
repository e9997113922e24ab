"""What is known of the GPU now: load, clocks, memory, temperatures, rails, fan, engines beside it."""

import re
from pathlib import Path

from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Collected, Reading
from accelwatch.system.kernel import sysfs
from accelwatch.system.kernel.shared_memory import collect_shared_memory
from accelwatch.system.kernel.supply_rails import collect_rails, rails
from accelwatch_jetson import thermal
from accelwatch_jetson.tegrastats import Line

_DEVFREQ = re.compile(r"(?:[0-9a-f]{6,16}\.)?(?:gpu|gm20b|gp10b|gv11b|ga10b)(?:\.0)?")
_CLOCKS = (
    ("cur_freq", ("clock_hertz", "graphics")),
    ("max_freq", ("clock_limit_hertz", "graphics", "max")),
    ("min_freq", ("clock_limit_hertz", "graphics", "min")),
)
# `load` counts in thousandths.
_FULL_LOAD = 1000
_FULL_FAN = 255
_SOURCE, _TEGRASTATS = "sysfs", "tegrastats"
_TEGRASTATS_ONLY = ("engine_utilization_ratio", "memory_controller_utilization_ratio")


def reading(root: Path, folder: Path, device: Device, tegrastats_line: Line | Absence) -> Reading:
    """What the kernel shows of the GPU in `folder`, and what only `tegrastats_line` by tegrastats;
    never fails.

    Where both report something, the kernel is right.
    """
    out = Collected(device.id)
    out.put_or_miss("utilization_ratio", _ratio(folder / "load", _FULL_LOAD))
    _collect_clocks(out, root)
    collect_shared_memory(root, out)
    thermal.collect_temperatures(out, root)
    line = Line({}, []) if isinstance(tegrastats_line, Absence) else tegrastats_line
    note = collect_rails(out, rails(root, line.rails))
    _collect_fan(out, root)
    if isinstance(tegrastats_line, Absence):
        for key in _TEGRASTATS_ONLY:
            out.miss(key, tegrastats_line)
    for series, value in line.values.items():
        if series not in out.values and not (isinstance(value, Absence) and series in out.absent):
            out.put_or_miss(series[0], value, *series[1:])
    sources = {"*": _SOURCE}
    if tegrastats_line is not Absence.UNSUPPORTED:
        sources |= dict.fromkeys(_TEGRASTATS_ONLY, _TEGRASTATS)
    return out.reading(sources=sources, notes=(note,) if note else ())


def _ratio(path: Path, full: int) -> float | Absence:
    raw = sysfs.read_int(path)
    if isinstance(raw, Absence):
        return raw
    return raw / full if 0 <= raw <= full else Absence.ERROR


def _collect_clocks(out: Collected, root: Path) -> None:
    """Of the GPU's devfreq, hertz; 0 is a GPU that is switched off."""
    for folder in sysfs.list_dir(root / "sys/class/devfreq"):
        if _DEVFREQ.fullmatch(folder.name):
            for name, (key, *labels) in _CLOCKS:
                hertz = sysfs.read_int(folder / name)
                good = isinstance(hertz, Absence) or hertz >= 0
                out.put_or_miss(key, hertz if good else Absence.ERROR, *labels)
            return
    out.miss("clock_hertz", Absence.UNSUPPORTED, "graphics")


def _collect_fan(out: Collected, root: Path) -> None:
    """The fan of the module, as it is driven and, where there is a tachometer, as it turns."""
    for folder in sysfs.list_dir(root / "sys/class/hwmon"):
        name = sysfs.read_text(folder / "name")
        if name in ("pwmfan", "tegra_pwmfan"):
            out.put_or_miss("fan_speed_ratio", _ratio(folder / "pwm1", _FULL_FAN), "0")
        elif name in ("pwm_tach", "generic_pwm_tachometer"):
            rpm = sysfs.read_int(folder / "rpm")
            out.put_or_miss("fan_speed_rpm", rpm, "0")
