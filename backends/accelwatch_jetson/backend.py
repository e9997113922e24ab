"""The integrated GPU of a Jetson: present by the device tree, read from files, without a library."""

import re
from collections.abc import Sequence
from pathlib import Path

from accelwatch import sysfs, tegra
from accelwatch.backend import Check, Context, Opened, Probe, Request, Support
from accelwatch.errors import BackendUnavailable, DeviceLost
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Collected, Reading
from accelwatch.shared_memory import put_shared_memory
from accelwatch_jetson import board, rails, thermal

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


class JetsonBackend:
    """No options."""

    name = "jetson"
    vendor = board.VENDOR
    serial = False
    support = Support(
        vendor="NVIDIA Jetson",
        source="nvgpu's sysfs, thermal zones and INA3221 monitors, up to Orin; Thor is read as NVIDIA",
        tested_with="a recorded load with its thermal zones; composed modules, healthy and faulty",
    )

    def __init__(self, context: Context) -> None:
        self._context = context

    def probe(self) -> Probe:
        """Look into the device tree, and on a Tegra for the GPU."""
        root = self._context.root
        system = tegra.soc(root)
        gpu = None if system is None else tegra.integrated_gpu(root)
        checks = (
            Check(
                subject="nvidia,tegra in the device tree", ok=system is not None, found=system or ""
            ),
            Check(subject="load of nvgpu", ok=gpu is not None, found=gpu.name if gpu else ""),
        )
        return Probe(present=gpu is not None, checks=checks)

    def open(self) -> Opened:
        """Nothing is loaded. Raises BackendUnavailable when this is no Tegra with a GPU of its own."""
        if not tegra.is_integrated(self._context.root):
            raise BackendUnavailable(
                "no integrated GPU of nvgpu is below /sys/devices",
                reason="driver_not_loaded",
                remedy="on a Jetson up to Orin load nvgpu; the GPU of a Thor is read by nvidia",
            )
        version = board.release(self._context.root)
        return Opened(source=_SOURCE, versions={"l4t": version} if version else {})

    def discover(self) -> Sequence[Device]:
        """The GPU, as long as it is there."""
        return [board.device(self._context.root)] if tegra.is_integrated(self._context.root) else []

    def identify(self, device: Device) -> Sequence[Device]:
        """It has no partitions."""
        return [device]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the kernel shows now. Raises DeviceLost when nvgpu shows no GPU any more."""
        root = self._context.root
        folder = tegra.integrated_gpu(root)
        if folder is None:
            raise DeviceLost(f"{device.name}: nvgpu shows no GPU any more", code="not_listed")
        out = Collected(device.id)
        out.put_or_miss("utilization_ratio", _ratio(folder / "load", _FULL_LOAD))
        _put_clocks(out, root)
        put_shared_memory(root, out)
        thermal.put_temperatures(out, root)
        note = rails.put_rails(out, root)
        _put_fan(out, root)
        reason = Absence.UNSUPPORTED if request.processes else Absence.NOT_COLLECTED
        out.miss("processes", reason)
        return [out.reading(sources={"*": _SOURCE}, notes=(note,) if note else ())]

    def close(self) -> None:
        """Nothing is held."""


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
