"""Where the i915 driver keeps the files of its GTs: cardN/gt/gtN, or in older kernels cardN itself."""

from pathlib import Path

from accelwatch.base.absence import Absence
from accelwatch.system.kernel import sysfs
from accelwatch_intel.card import Card
from accelwatch_intel.sysfs.gt import Gt

# Our name of a clock to its file (i915's intel_gt_sysfs_pm.c).
_CLOCKS = {
    "actual": "rps_act_freq_mhz",
    "max": "rps_max_freq_mhz",
    "min": "rps_min_freq_mhz",
}

# Kernels before 5.18 have the same names with `gt_` for `rps_`, in the card's own directory.
_OLD_PREFIX = "gt_"

_REASON_PREFIX = "throttle_reason_"


def find_gts(card: Card) -> tuple[Gt, ...]:
    """GTs of a card held by i915. Beyond the first they are tiles of a tiled part, else media."""
    if card.node_folder is None:
        return ()
    folders = [
        entry
        for entry in sysfs.list_dir(card.node_folder / "gt")
        if entry.name.startswith("gt") and entry.name[2:].isdecimal()
    ]
    if not folders:
        return _old(card.node_folder)
    return tuple(_gt(folder, int(folder.name[2:]), tiled=card.tiled) for folder in folders)


def memory_bytes(card: Card) -> int | Absence:
    """Device memory of a card in bytes, where the driver reports it (Intel's packaged i915 does)."""
    if card.node_folder is None:
        return Absence.UNSUPPORTED
    return sysfs.read_int(card.node_folder / "lmem_total_bytes")


def _gt(folder: Path, number: int, *, tiled: bool) -> Gt:
    files = {entry.name: entry for entry in sysfs.list_dir(folder)}
    reasons = {
        name.removeprefix(_REASON_PREFIX): entry
        for name, entry in files.items()
        if name.startswith(_REASON_PREFIX) and not name.endswith("_status")
    }
    return Gt(
        name=folder.name,
        tile=number if tiled else 0,
        domain="graphics" if tiled or number == 0 else "media",
        clocks={name: files[file] for name, file in _CLOCKS.items() if file in files},
        idle=None if _never_idle(folder) else folder / "rc6_residency_ms",
        throttle=reasons,
    )


def _never_idle(folder: Path) -> bool:
    """Whether the driver keeps RC6 off, so that its counter stands still on an idle GT as well."""
    return sysfs.read_int(folder / "rc6_enable") == 0


def _old(folder: Path) -> tuple[Gt, ...]:
    files = {entry.name: entry for entry in sysfs.list_dir(folder)}
    names = {name: file.replace("rps_", _OLD_PREFIX) for name, file in _CLOCKS.items()}
    clocks = {name: files[file] for name, file in names.items() if file in files}
    if not clocks:
        return ()
    power = folder / "power"
    idle = None if _never_idle(power) else power / "rc6_residency_ms"
    return (Gt(name="gt0", tile=0, domain="graphics", clocks=clocks, idle=idle),)
