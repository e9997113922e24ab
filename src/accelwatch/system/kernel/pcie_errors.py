"""What the kernel's advanced error reporting has counted of a PCI function.

Files: Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats.
"""

from collections.abc import Callable

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch.system.kernel import sysfs

_TOTALS = (
    ("aer_dev_correctable", "TOTAL_ERR_COR", "correctable"),
    ("aer_dev_nonfatal", "TOTAL_ERR_NONFATAL", "nonfatal"),
    ("aer_dev_fatal", "TOTAL_ERR_FATAL", "fatal"),
)


def collect_errors(out: Collected, text_of: Callable[[str], str | Absence]) -> None:
    """The totals by severity; `text_of` reads a file of the function. Unreported ones are left out."""
    for file, total, severity in _TOTALS:
        text = text_of(file)
        if isinstance(text, Absence):
            continue
        for line in text.splitlines():
            name, _, number = line.partition(" ")
            count = sysfs.integer(number.strip())
            if name == total and isinstance(count, int) and count >= 0:
                out.put("pcie_errors_total", count, severity)
