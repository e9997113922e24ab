"""What the kernel's files say of the GPU now: load, clocks, memory, temperatures, rails, fan."""

import re
from pathlib import Path

from accelwatch import sysfs
from accelwatch.backend import Request
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Collected, Reading
from accelwatch.shared_memory import put_shared_memory
from accelwatch_jetson import rails, thermal

_DEVFREQ = re.compile(r"(?:[0-9a-f]{6,16}\.)?(?:gpu|gm20b|gp10b|gv11b|ga10b)(?:\.0)?")
_CLOCKS = (
    ("cur_freq", ("clock_hertz", "graphics")),
    ("max_freq", ("clock_limit_hertz", "graphics", "max")),
    ("min_freq", ("clock_limit_hertz", "graphics", "min")),
)
_FULL_LOAD = 1000
"""`load` counts in thousandths."""
_FULL_FAN = 255
_SOURCE = "sysfs"


def reading(root: Path, folder: Path, device: Device, request: Request) -> Reading:
    """The reading of the GPU whose folder in sysfs is given; it never fails as a whole."""
    out = Collected(device.id)
    out.put_or_miss("utilization_ratio", _ratio(folder / "load", _FULL_LOAD))
    _put_clocks(out, root)
    put_shared_memory(root, out)
    thermal.put_temperatures(out, root)
    note = rails.put_rails(out, root)
    _put_fan(out, root)
    reason = Absence.UNSUPPORTED if request.processes else Absence.NOT_COLLECTED
    out.miss("processes", reason)
    return out.reading(sources={"*": _SOURCE}, notes=(note,) if note else ())


def _ratio(path: Path, full: int) -> float | Absence:
    told = sysfs.read_int(path)
    if isinstance(told, Absence):
        return told
    return told / full if 0 <= told <= full else Absence.ERROR


def _put_clocks(out: Collected, root: Path) -> None:
    """Of the GPU's devfreq, hertz; 0 is a GPU that is switched off."""
    for folder in sysfs.list_dir(root / "sys/class/devfreq"):
        if _DEVFREQ.fullmatch(folder.name):
            for name, (key, *labels) in _CLOCKS:
                told = sysfs.read_int(folder / name)
                good = isinstance(told, Absence) or told >= 0
                out.put_or_miss(key, told if good else Absence.ERROR, *labels)
            return
    out.miss("clock_hertz", Absence.UNSUPPORTED, "graphics")


def _put_fan(out: Collected, root: Path) -> None:
    """The fan of the module, as it is driven and, where there is a tachometer, as it turns."""
    for folder in sysfs.list_dir(root / "sys/class/hwmon"):
        name = sysfs.read_text(folder / "name")
        if name in ("pwmfan", "tegra_pwmfan"):
            out.put_or_miss("fan_speed_ratio", _ratio(folder / "pwm1", _FULL_FAN), "0")
        elif name in ("pwm_tach", "generic_pwm_tachometer"):
            told = sysfs.read_int(folder / "rpm")
            out.put_or_miss("fan_speed_rpm", told, "0")
