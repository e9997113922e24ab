"""The PCIe link of a board, and its errors."""

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch.system.kernel.pcie_errors import collect_errors
from accelwatch.system.kernel.pcie_link import STATES, is_bridge, link_of
from accelwatch_amd.sysfs.tree import ReadBytes, Tree, fill

_VENDOR_ID = 0x1002


def slot_side(device: Tree, read: ReadBytes) -> Tree | Absence:
    """The function whose link is the slot's: the GPU itself, or the switch on its board.

    From RDNA on the GPU sits behind a PCIe switch of the same vendor, and its own link is that inside
    the board, always at full speed. Where it cannot be read what sits above, nobody knows which it is.
    """
    side = Tree(device.folder.resolve(), read)
    while True:
        above = Tree(side.folder.parent, read)
        code, vendor = above.integer("class"), above.integer("vendor")
        for answer in (code, vendor):
            if isinstance(answer, Absence) and answer is not Absence.UNSUPPORTED:
                return answer
        bridge = isinstance(code, int) and is_bridge(code)
        if not bridge or vendor != _VENDOR_ID:
            return side
        side = above


def read_link(device: Tree, read: ReadBytes, out: Collected) -> None:
    """Record generation and width of the slot's link, now and at most."""
    side = slot_side(device, read)
    if isinstance(side, Absence):
        out.miss("pcie_link_generation", side)
        out.miss("pcie_link_width_lanes", side)
        return
    for state in STATES:
        generation, lanes = link_of(
            side.text(f"{state}_link_speed"), side.integer(f"{state}_link_width")
        )
        _record(out, "pcie_link_generation", generation, state)
        _record(out, "pcie_link_width_lanes", lanes, state)


def _record(out: Collected, key: str, value: int | Absence, state: str) -> None:
    if not isinstance(value, Absence):
        out.put(key, value, state)
    elif value is not Absence.UNSUPPORTED:
        out.miss(key, value, state)


def read_errors(device: Tree, out: Collected) -> None:
    """Record replays, and what the kernel's advanced error reporting has counted."""
    replays = device.integer("pcie_replay_count")
    if isinstance(replays, int) and replays >= 0:
        fill(out, "pcie_errors_total", replays, "replay")
    collect_errors(out, device.text)
