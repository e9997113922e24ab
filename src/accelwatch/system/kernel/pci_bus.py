"""What is on the PCI bus, by one file, for a first guess at which driver stacks are worth loading."""

from pathlib import Path

from accelwatch.base.absence import Absence
from accelwatch.system.kernel import sysfs

# Columns before the driver's name: drivers/pci/proc.c, show_device().
_NUMBERS = 17


def on_bus(root: Path) -> frozenset[str] | None:
    """Vendor ids (`10de`) and names of kernel drivers of all functions; None where unknown."""
    text = sysfs.read_text(root / "proc/bus/pci/devices")
    if isinstance(text, Absence):
        return None
    codes: set[str] = set()
    for line in text.splitlines():
        columns = line.split()
        if len(columns) < _NUMBERS or len(columns[1]) != len("10de20b5"):
            return None
        codes.add(columns[1][:4].lower())
        codes.update(columns[_NUMBERS:])
    return frozenset(codes)
