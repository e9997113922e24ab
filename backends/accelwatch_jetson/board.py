"""Who a Jetson is: the words of the device tree and of the release of NVIDIA's Linux for Tegra."""

import re
from pathlib import Path
from types import MappingProxyType

from accelwatch.base.absence import Absence
from accelwatch.base.untrusted_text import printable
from accelwatch.schema.device import Device, MemoryKind
from accelwatch.system.kernel import sysfs, tegra

VENDOR = "nvidia"
# Of the GPU, by the name of the system on a chip.
ARCHITECTURES = MappingProxyType(
    {"tegra210": "maxwell", "tegra186": "pascal", "tegra194": "volta", "tegra234": "ampere"}
)
_RELEASE = re.compile(r"#\s*R(\d{1,3})\s*\(release\),\s*REVISION:\s*(\d{1,3}(?:\.\d{1,3}){0,2})")
_NODES = ("dev/nvhost-gpu", "dev/nvgpu/igpu0/ctrl")
_MAX_TEXT = 120


def device(root: Path) -> Device:
    """The one integrated GPU; its id is the module's serial number, without one its address."""
    serial = _text(root / "proc/device-tree/serial-number")
    system = tegra.soc(root)
    return Device(
        id=f"{VENDOR}:{serial or system or 'tegra'}-gpu",
        vendor=VENDOR,
        backend="jetson",
        index=0,
        name="tegra0",
        model=_text(root / "proc/device-tree/model"),
        architecture=ARCHITECTURES.get(system or ""),
        serial=serial,
        driver_version=release(root),
        device_nodes=tuple(f"/{node}" for node in _NODES if (root / node).exists()),
        memory_kind=MemoryKind.SHARED,
    )


def release(root: Path) -> str | None:
    """`36.4.3` of `# R36 (release), REVISION: 4.3, ...`; None where the file does not say it."""
    text = sysfs.read_text(root / "etc/nv_tegra_release")
    match = None if isinstance(text, Absence) else _RELEASE.match(text)
    return f"{match[1]}.{match[2]}" if match else None


def _text(path: Path) -> str | None:
    text = sysfs.read_text(path)
    if isinstance(text, Absence):
        return None
    clean = printable(text, instead="").strip()[:_MAX_TEXT]
    return None if clean.lower() in ("", "n/a", "none", "unknown") or set(clean) == {"0"} else clean
