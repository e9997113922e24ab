"""What the habanalabs driver shows of an accelerator: its status, resets, clock, limit and versions.

Attributes are with the PCI function below the class `accel`; older drivers have a class `habanalabs`,
with the attributes in its own folders.
"""

import re
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from accelwatch.base.absence import Absence
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Collected
from accelwatch.system.kernel import sysfs

SOURCE = "sysfs"
VENDOR_ID = 0x1DA3
_CLASSES = (
    ("accel", re.compile(r"accel(\d{1,5})"), "/dev/accel/accel"),
    ("habanalabs", re.compile(r"hl(\d{1,5})"), "/dev/hl"),
)

_NEEDS_RESET = "needs reset"
# Words of `status` (habanalabs, device.c; `malfunction` is the older word for `disabled`).
_HEALTH = MappingProxyType(
    {
        "operational": "ok",
        "in device creation": "degraded",
        "in reset": "degraded",
        "in reset after device release": "degraded",
        _NEEDS_RESET: "failed",
        "disabled": "failed",
        "malfunction": "failed",
    }
)
_FIRMWARE = re.compile(r"fw-(\d+(?:\.\d+){1,4})")
_FIRMWARE_FILES = ("preboot_btl_ver", "cpucp_kernel_ver", "armcp_kernel_ver")


class _DriverFile(NamedTuple):
    file: str
    series: Series
    factor: float


# Megahertz and milliwatts: Documentation/ABI/testing/sysfs-driver-habanalabs.
_ROWS = (
    _DriverFile("clk_cur_freq_mhz", ("clock_hertz", "soc"), 1e6),
    _DriverFile("clk_max_freq_mhz", ("clock_limit_hertz", "soc", "max"), 1e6),
    _DriverFile("max_power", ("power_limit_watts", "enforced"), 1e-3),
)


class Node(NamedTuple):
    """An accelerator that the driver has bound."""

    number: int
    pci_bus_id: str
    # Where its attributes are.
    folder: Path
    device_node: str

    @property
    def name(self) -> str:
        """As the kernel log calls it: `accel0`, `hl0`."""
        return self.device_node.rpartition("/")[2]

    def text(self, file: str) -> str | None:
        """What an attribute says; None where it says nothing."""
        content = sysfs.read_text(self.folder / file)
        return None if isinstance(content, Absence) or not content else content[:256]

    @property
    def firmware_version(self) -> str | None:
        """As in the versions of the boot loader and of the device's kernel."""
        versions = (firmware_in(self.text(file) or "") for file in _FIRMWARE_FILES)
        return next((version for version in versions if version), None)

    @property
    def architecture(self) -> str | None:
        """`gaudi2`; what follows it (`SEC`) is of how its firmware was loaded."""
        tokens = (self.text("device_type") or "").lower().split()
        return tokens[0] if tokens and tokens[0].isalnum() else None


def firmware_in(text: str) -> str | None:
    """The version in the text of a boot loader: `... hl-gaudi2-1.14.0-fw-48.0.1-sec-7 ...`."""
    match = _FIRMWARE.search(text)
    return None if match is None else match[1]


def nodes(root: Path) -> dict[str, Node]:
    """Accelerators of the driver by their PCI id."""
    bound: dict[str, Node] = {}
    for name, pattern, prefix in _CLASSES:
        for folder in sysfs.list_dir(root / "sys/class" / name):
            match = pattern.fullmatch(folder.name)
            bus = sysfs.link_name(folder / "device") if match else None
            if match is None or bus is None or not _is_gaudi(root, bus):
                continue
            own = (folder / "status").exists()
            attributes = folder if own else folder / "device"
            number = int(match[1])
            bound.setdefault(bus, Node(number, bus, attributes, f"{prefix}{number}"))
    return bound


def _is_gaudi(root: Path, bus: str) -> bool:
    """Other accelerators are of the class `accel` too."""
    return sysfs.read_int(root / "sys/bus/pci/devices" / bus / "vendor") == VENDOR_ID


def driver_version(root: Path) -> str | None:
    """Of the loaded module."""
    text = sysfs.read_text(root / "sys/module/habanalabs/version")
    return None if isinstance(text, Absence) else text[:64] or None


def collect_all(out: Collected, node: Node) -> dict[str, str]:
    """Status, resets, and the numbers that `out` has not; returns the source of what was put."""
    put: dict[str, str] = {}
    _collect_status(out, node)
    _collect_resets(out, node)
    for key in ("reported_status_info", "reported_health_info", "reset_required", "resets_total"):
        put[key] = SOURCE
    for row in _ROWS:
        key, *labels = row.series
        value = sysfs.read_int(node.folder / row.file)
        if row.series in out.values:
            continue
        if isinstance(value, int) and value > 0:
            out.put(key, value * row.factor, *labels)
            put[key] = SOURCE
        elif isinstance(value, Absence) and value is not Absence.UNSUPPORTED:
            out.miss(key, value, *labels)
    return put


def _collect_status(out: Collected, node: Node) -> None:
    text = sysfs.read_text(node.folder / "status")
    if isinstance(text, Absence) or not text:
        reason = text if isinstance(text, Absence) else Absence.ERROR
        for key in ("reported_status_info", "reported_health_info", "reset_required"):
            out.miss(key, reason)
        return
    status = text.lower()[:64]
    out.put("reported_status_info", 1, status)
    out.put("reset_required", int(status == _NEEDS_RESET))
    health = _HEALTH.get(status)
    if health is None:
        out.miss("reported_health_info", Absence.UNSUPPORTED)
    else:
        out.put("reported_health_info", 1, health)


def _collect_resets(out: Collected, node: Node) -> None:
    """Soft and hard ones since the driver was loaded; newer drivers count the hard ones only."""
    readings = [sysfs.read_int(node.folder / f"{kind}_reset_cnt") for kind in ("hard", "soft")]
    counts = [value for value in readings if isinstance(value, int) and value >= 0]
    if isinstance(readings[0], Absence):
        out.miss("resets_total", readings[0])
    else:
        out.put("resets_total", sum(counts))
