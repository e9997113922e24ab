"""PCIe link and error counters of a card."""

from pathlib import Path

from accelwatch import sysfs
from accelwatch.schema.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch_intel.card import Card

_GENERATIONS = {"2.5": 1, "5.0": 2, "5": 2, "8.0": 3, "16.0": 4, "32.0": 5, "64.0": 6}
"""Gigatransfers per second, as sysfs writes them, to PCIe generation."""

_BRIDGE = 0x0604

_ERROR_FILES = (
    ("aer_dev_correctable", "TOTAL_ERR_COR", "correctable"),
    ("aer_dev_nonfatal", "TOTAL_ERR_NONFATAL", "nonfatal"),
    ("aer_dev_fatal", "TOTAL_ERR_FATAL", "fatal"),
)
"""Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats."""


def link_folder(card: Card) -> Path | None:
    """The PCI function whose link attributes are true for the card; None when there is none.

    An Arc card has a PCIe switch of its own. The GPU behind it always says 2.5 GT/s x1; the link to
    the machine is that of the switch's upstream port, two levels up.
    """
    if not card.discrete or not _is_internal_link(card.folder):
        return card.folder
    try:
        upstream = card.folder.resolve(strict=True).parent.parent
    except (OSError, RuntimeError):
        return None
    code = sysfs.read_int(upstream / "class")
    return upstream if isinstance(code, int) and code >> 8 == _BRIDGE else None


def _is_internal_link(folder: Path) -> bool:
    speed, width = (
        sysfs.read_text(folder / "current_link_speed"),
        sysfs.read_int(folder / "current_link_width"),
    )
    return generation(speed) == 1 and width == 1


def generation(speed: str | Absence) -> int | Absence:
    """`16.0 GT/s PCIe` as 4. `Unknown`, which integrated GPUs have, is `unsupported`."""
    if isinstance(speed, Absence):
        return speed
    return _GENERATIONS.get(speed.split(" ")[0], Absence.UNSUPPORTED)


def read_link(card: Card, out: Collected) -> None:
    """Generation and lanes, current and maximum."""
    folder = link_folder(card)
    if folder is None:
        return
    for state in ("current", "max"):
        speed = generation(sysfs.read_text(folder / f"{state}_link_speed"))
        if isinstance(speed, Absence):
            out.miss("pcie_link_generation", speed, state)
        else:
            out.put("pcie_link_generation", speed, state)
        width = sysfs.read_int(folder / f"{state}_link_width")
        if isinstance(width, int) and 0 < width <= 32:
            out.put("pcie_link_width_lanes", width, state)
        else:
            reason = width if isinstance(width, Absence) else Absence.UNSUPPORTED
            out.miss("pcie_link_width_lanes", reason, state)


def read_errors(card: Card, out: Collected) -> None:
    """Totals of the kernel's AER counters of the GPU function."""
    for file, total, kind in _ERROR_FILES:
        text = sysfs.read_text(card.folder / file)
        if isinstance(text, Absence):
            continue
        words = [line.split() for line in text.splitlines()]
        counts = [
            row[1] for row in words if len(row) == 2 and row[0] == total and row[1].isdecimal()
        ]
        if counts:
            out.put("pcie_errors_total", int(counts[0]), kind)
