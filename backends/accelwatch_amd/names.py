"""Names of AMD devices: a short table for data-centre boards, libdrm's list where it is installed.

Device ids and market names: AMD's product pages and Linux drivers/gpu/drm/amd/amdgpu/amdgpu_drv.c.
"""

from accelwatch_amd.tree import Tree

_BOARDS: dict[int, tuple[str, str]] = {
    0x66A1: ("AMD Instinct MI50/MI60", "gfx906"),
    0x738C: ("AMD Instinct MI100", "gfx908"),
    0x7408: ("AMD Instinct MI250X", "gfx90a"),
    0x740C: ("AMD Instinct MI250X/MI250", "gfx90a"),
    0x740F: ("AMD Instinct MI210", "gfx90a"),
    0x74A0: ("AMD Instinct MI300A", "gfx942"),
    0x74A1: ("AMD Instinct MI300X", "gfx942"),
    0x74A2: ("AMD Instinct MI308X", "gfx942"),
    0x74A5: ("AMD Instinct MI325X", "gfx942"),
    0x74B5: ("AMD Instinct MI300X VF", "gfx942"),
    0x75A0: ("AMD Instinct MI350X", "gfx950"),
    0x75A3: ("AMD Instinct MI355X", "gfx950"),
    0x687F: ("AMD Radeon RX Vega", "gfx900"),
    0x67DF: ("AMD Radeon RX 470/480/570/580", "gfx803"),
    0x731F: ("AMD Radeon RX 5600/5700", "gfx1010"),
    0x7340: ("AMD Radeon RX 5300/5500", "gfx1012"),
    0x73BF: ("AMD Radeon RX 6800/6900", "gfx1030"),
    0x73FF: ("AMD Radeon RX 6600", "gfx1032"),
    0x744C: ("AMD Radeon RX 7900", "gfx1100"),
    0x747E: ("AMD Radeon RX 7700/7800 XT", "gfx1101"),
    0x7480: ("AMD Radeon RX 7600/7700S", "gfx1102"),
    0x7550: ("AMD Radeon RX 9070", "gfx1201"),
    0x163F: ("AMD Van Gogh", "gfx1033"),
    0x150E: ("AMD Strix Point", "gfx1150"),
}
_SHARED_MEMORY = frozenset({0x74A0, 0x163F, 0x150E})
"""APUs: the processor and the GPU use one pool."""

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
    major, rest = divmod(gfx_target_version, 10_000)
    minor, step = divmod(rest, 100)
    return f"gfx{major}{minor:x}{step:x}"


def architecture(gfx_target_version: int, device_id: int) -> str | None:
    """`gfx942/CDNA3`; only the target where its family is not known, None where neither is."""
    gfx = gfx_name(gfx_target_version) or _BOARDS.get(device_id, ("", ""))[1]
    if not gfx:
        return None
    family = next((name for prefix, name in _FAMILIES if gfx.startswith(prefix)), None)
    return f"{gfx}/{family}" if family else gfx


def shares_memory(device_id: int) -> bool:
    """Whether the device is known as an APU by its PCI device id."""
    return device_id in _SHARED_MEMORY


def board_name(device_id: int) -> str | None:
    """Market name of the boards that share a device id."""
    return _BOARDS.get(device_id, (None, ""))[0]


def parse_ids(text: str, device_id: int, revision: int) -> str | None:
    """Name in libdrm's list of `device, revision, name` lines (both hexadecimal)."""
    wanted = (f"{device_id:X}", f"{revision:X}")
    for line in text.splitlines():
        fields = [field.strip() for field in line.split(",", 2)]
        if len(fields) == 3 and (fields[0].upper(), fields[1].upper().lstrip("0") or "0") == wanted:
            return fields[2] or None
    return None


def listed_name(root: Tree, device_id: int, revision: int) -> str | None:
    """Name from the list that the machine's libdrm brings, where it brings one."""
    for path in _IDS:
        text = root.word(path)
        name = parse_ids(text, device_id, revision) if text else None
        if name:
            return name
    return None
