"""What the driver furiosa_rngd shows of a card: why it is slow, its power limit, its version.

Attributes and bits as the vendor's library of 2026.1 knows them; a later one has one bit more, so what
is above `HW_POWER_CAP` is reported as `other`.
"""

import re
from pathlib import Path

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch.system.kernel import sysfs

SOURCE = "sysfs"
# THERMAL_SLOWDOWN; APP_ and HW_POWER_CAP; APP_ and HW_CLOCK_CAP; HW_BUS_LIMIT and all others.
_REASONS = (
    ("thermal_hardware", 0x02),
    ("power", 0x04 | 0x40),
    ("clock_setting", 0x08 | 0x10),
    ("other", ~0x5F & 0xFFFF_FFFF),
)
_IDLE = 0x01
_AMBIENT = "AMBIENT"
_LABEL = re.compile(r"temp(\d{1,2})_label")
_MAX_VERSION = 64


def folder(root: Path, number: int) -> Path | None:
    """The card's folder by its number; None where the driver shows none."""
    path = root / f"sys/class/rngd_mgmt/rngd!npu{number}mgmt"
    return path if path.is_dir() else None


def version(card: Path) -> str | None:
    """Of the driver: `2026.3.1, e28c5c0`."""
    text = sysfs.read_text(card / "version")
    return None if isinstance(text, Absence) else text[:_MAX_VERSION] or None


def collect_all(out: Collected, root: Path, card: Path, pci_bus_id: str | None) -> dict[str, str]:
    """What the driver says now, and where each quantity is from."""
    reasons = sysfs.read_int(card / "throttle_reason")
    for name, bits in _REASONS:
        active = reasons if isinstance(reasons, Absence) else bool(reasons & bits)
        out.put_or_miss("throttle_active", active, name)
    idle = reasons if isinstance(reasons, Absence) else bool(reasons & _IDLE)
    out.put_or_miss("clocks_idle", idle)
    sources = {"throttle_active": SOURCE, "clocks_idle": SOURCE}
    limit = sysfs.read_int(card / "power_limit_mw")
    if isinstance(limit, int) and limit > 0 and ("power_limit_watts", "enforced") not in out.values:
        out.absent.pop(("power_limit_watts", "enforced"), None)
        out.put("power_limit_watts", limit / 1000, "enforced")
        sources["power_limit_watts"] = SOURCE
    ambient = None if pci_bus_id is None else _ambient(sysfs.pci_device_dir(root, pci_bus_id))
    if ambient is not None:
        out.put("temperature_celsius", ambient / 1000, "board")
    return sources


def _ambient(function: Path) -> int | None:
    """Millidegrees of the sensor that hwmon calls AMBIENT."""
    for hwmon in sysfs.list_dir(function / "hwmon"):
        for file in sysfs.list_dir(hwmon):
            match = _LABEL.fullmatch(file.name)
            if match is not None and sysfs.read_text(file) == _AMBIENT:
                value = sysfs.read_int(hwmon / f"temp{match[1]}_input")
                return value if isinstance(value, int) else None
    return None
