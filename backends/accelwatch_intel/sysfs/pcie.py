"""PCIe link and error counters of a card."""

from pathlib import Path

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch.system.kernel import sysfs
from accelwatch.system.kernel.pcie_errors import collect_errors
from accelwatch.system.kernel.pcie_link import (
    STATES,
    collect_link_of,
    generation_of,
    is_bridge,
    lanes_of,
)
from accelwatch_intel.card import Card


def link_folder(card: Card) -> Path | Absence:
    """The PCI function whose link attributes are true for the card, or why none is known.

    An Arc card has a PCIe switch of its own. The GPU behind it always says 2.5 GT/s x1; the link to
    the machine is that of the switch's upstream port, two levels up.
    """
    if not card.discrete or not _is_internal_link(card.folder):
        return card.folder
    try:
        upstream = card.folder.resolve(strict=True).parent.parent
    except (OSError, RuntimeError):
        return Absence.LOST
    code = sysfs.read_int(upstream / "class")
    if isinstance(code, Absence):
        return code
    return upstream if is_bridge(code) else Absence.UNSUPPORTED


def _is_internal_link(folder: Path) -> bool:
    """Whether all that the function says of its link is 2.5 GT/s and one lane.

    Each file may fail by itself, and a true link that fell so low still has a higher maximum.
    """
    widths = [
        value
        for state in STATES
        for value in (
            generation_of(sysfs.read_text(folder / f"{state}_link_speed")),
            lanes_of(sysfs.read_int(folder / f"{state}_link_width")),
        )
        if not isinstance(value, Absence)
    ]
    return bool(widths) and all(value == 1 for value in widths)


def read_link(card: Card, out: Collected) -> None:
    """Generation and lanes, current and maximum."""
    folder = link_folder(card)
    if isinstance(folder, Absence):
        if folder is not Absence.UNSUPPORTED:
            out.miss("pcie_link_generation", folder)
            out.miss("pcie_link_width_lanes", folder)
        return
    collect_link_of(out, folder)


def read_downgrade(card: Card, out: Collected) -> None:
    """Whether the card fell from PCIe 5 to 4 by itself in training, for the faster link was unstable.

    Both files are root's and Battlemage's only; a card that is not capable of it has no status. Source:
    drivers/gpu/drm/xe/xe_device_sysfs.c, "PCIe Gen5 Limitations".
    """
    downgraded = sysfs.read_int(card.folder / "auto_link_downgrade_capable")
    if downgraded == 1:
        downgraded = sysfs.read_int(card.folder / "auto_link_downgrade_status")
    elif downgraded == 0:
        return
    if downgraded in (0, 1):
        out.put("pcie_link_downgraded", downgraded)
    elif downgraded is not Absence.UNSUPPORTED:
        out.miss(
            "pcie_link_downgraded", downgraded if isinstance(downgraded, Absence) else Absence.ERROR
        )


def read_errors(card: Card, out: Collected) -> None:
    """Totals of the kernel's AER counters of the GPU function."""
    collect_errors(out, lambda file: sysfs.read_text(card.folder / file))
