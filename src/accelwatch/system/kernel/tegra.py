"""NVIDIA's systems on a chip: whether the machine is one, and where its kernel shows the GPU.

The GPU of a Tegra is no PCI function. Up to Orin it is a platform device of nvgpu, which has a `load`;
from Thor on it is on the PCI bus and NVIDIA's usual driver has it.
"""

import re
from pathlib import Path

from accelwatch.base.absence import Absence
from accelwatch.system.kernel import sysfs

_FOLDERS = ("sys/devices/platform", "sys/devices/platform/bus@0", "sys/devices")
_GPU = re.compile(r"gpu(?:\.0)?|[0-9a-f]{6,16}\.(?:gpu|gm20b|gp10b|gv11b|ga10b)")
_SOC = re.compile(r"nvidia,tegra(\d{2,4})")


def soc(root: Path) -> str | None:
    """`tegra234` as the device tree has it; None on any other machine."""
    text = sysfs.read_text(root / "proc/device-tree/compatible")
    if isinstance(text, Absence):
        return None
    named = (_SOC.fullmatch(compatible) for compatible in text.split("\0"))
    return next((f"tegra{match[1]}" for match in named if match), None)


def integrated_gpu(root: Path) -> Path | None:
    """Folder of the platform device with the GPU's `load`; None where the GPU is on the PCI bus."""
    for parent in _FOLDERS:
        for folder in sysfs.list_dir(root / parent):
            if _GPU.fullmatch(folder.name) and (folder / "load").exists():
                return folder
    return None


def is_integrated(root: Path) -> bool:
    """Whether this is a Tegra whose GPU is a platform device."""
    return soc(root) is not None and integrated_gpu(root) is not None
