"""Where the xe driver keeps the files of its GTs: device/tileT/gtG, kernel 6.8 and later."""

from pathlib import Path

from accelwatch.base.absence import Absence
from accelwatch.system.kernel import sysfs
from accelwatch_intel.card import Card
from accelwatch_intel.sysfs.gt import Gt

# Our name of a clock to its file in freq0/ (xe_gt_freq.c): the bounds in force.
_CLOCKS = {
    "actual": "act_freq",
    "max": "max_freq",
    "min": "min_freq",
}


def find_gts(card: Card) -> tuple[Gt, ...]:
    """GTs of a card held by xe, tile by tile."""
    return tuple(
        _gt(folder, int(tile.name.removeprefix("tile")))
        for tile in tiles(card)
        for folder in sysfs.list_dir(tile)
        if folder.name.startswith("gt") and folder.name[2:].isdecimal()
    )


def tiles(card: Card) -> list[Path]:
    """Directories of the tiles."""
    entries = sysfs.list_dir(card.folder)
    return [
        entry for entry in entries if entry.name.startswith("tile") and entry.name[4:].isdecimal()
    ]


def _gt(folder: Path, tile: int) -> Gt:
    freq = folder / "freq0"
    files = {entry.name for entry in sysfs.list_dir(freq)}
    reasons = {
        entry.name.removeprefix("reason_"): entry
        for entry in sysfs.list_dir(freq / "throttle")
        if entry.name.startswith("reason_")
    }
    return Gt(
        name=folder.name,
        tile=tile,
        domain=_domain(folder),
        clocks={name: freq / file for name, file in _CLOCKS.items() if file in files},
        idle=folder / "gtidle/idle_residency_ms",
        throttle=reasons,
        throttle_list=freq / "throttle/reasons",
    )


def _domain(folder: Path) -> str:
    """`gtidle/name` ends in `-mc` for a media GT and in `-rc` for a render and compute GT."""
    name = sysfs.read_text(folder / "gtidle/name")
    return "media" if not isinstance(name, Absence) and name.endswith("-mc") else "graphics"


def memory_bytes(tile: Path) -> int | Absence:
    """Device memory of a tile in bytes where the kernel reports it, reserved parts included."""
    return sysfs.read_int(tile / "physical_vram_size_bytes")
