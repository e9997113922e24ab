"""Names of AMD devices: libdrm's list where it is installed, else a short table of our own."""

from accelwatch_amd.devices.boards import BOARDS
from accelwatch_amd.sysfs.tree import Tree

# APUs: the processor and the GPU use one pool.
_SHARED_MEMORY = frozenset({0x74A0, 0x163F, 0x150E})

_FAMILIES: tuple[tuple[str, str], ...] = (
    ("gfx6", "GCN1"),
    ("gfx7", "GCN2"),
    ("gfx80", "GCN3/4"),
    ("gfx81", "GCN3/4"),
    ("gfx908", "CDNA1"),
    ("gfx90a", "CDNA2"),
    ("gfx94", "CDNA3"),
    ("gfx95", "CDNA4"),
    ("gfx90", "GCN5"),
    ("gfx101", "RDNA1"),
    ("gfx103", "RDNA2"),
    ("gfx115", "RDNA3.5"),
    ("gfx11", "RDNA3"),
    ("gfx12", "RDNA4"),
)
_IDS = ("usr/share/libdrm/amdgpu.ids", "opt/amdgpu/share/libdrm/amdgpu.ids")


def gfx_name(gfx_target_version: int) -> str | None:
    """KFD's number as the compiler's target: 90402 is gfx942, 90010 is gfx90a; None for 0."""
    if gfx_target_version <= 0:
        return None
    major, minor_and_stepping = divmod(gfx_target_version, 10_000)
    minor, step = divmod(minor_and_stepping, 100)
    return f"gfx{major}{minor:x}{step:x}"


def architecture(gfx_target_version: int, device_id: int) -> str | None:
    """`gfx942/CDNA3`; only the target where its family is not known, None where neither is."""
    board = BOARDS.get(device_id)
    gfx = gfx_name(gfx_target_version) or (board.gfx if board else "")
    if not gfx:
        return None
    family = next((name for prefix, name in _FAMILIES if gfx.startswith(prefix)), None)
    return f"{gfx}/{family}" if family else gfx


def shares_memory(device_id: int) -> bool:
    """Whether the device is known as an APU by its PCI device id."""
    return device_id in _SHARED_MEMORY


def board_name(device_id: int, revision: int | None) -> str | None:
    """Market name of a board; that of its whole family where the revision does not identify it."""
    board = BOARDS.get(device_id)
    if board is None:
        return None
    return board.name if revision is None else board.revisions.get(revision, board.name)


def parse_ids(text: str, device_id: int, revision: int) -> str | None:
    """Name in libdrm's list of `device, revision, name` lines (both hexadecimal).

    It has a few pairs with two names; then either may be right and both are given.
    """
    key = (f"{device_id:X}", f"{revision:X}")
    names: dict[str, None] = {}
    for line in text.splitlines():
        fields = [field.strip() for field in line.split(",", 2)]
        if len(fields) == 3 and (fields[0].upper(), fields[1].upper().lstrip("0") or "0") == key:
            names[fields[2]] = None
    return " / ".join(name for name in names if name) or None


def listed_name(root: Tree, device_id: int, revision: int | None) -> str | None:
    """Name from the list that the machine's libdrm brings, where it brings one."""
    if revision is None:
        return None
    for path in _IDS:
        text = root.text_or_none(path)
        name = parse_ids(text, device_id, revision) if text else None
        if name:
            return name
    return None
