"""Names of Intel devices by PCI device id.

Families follow the kernel's include/drm/intel/pciids.h, product names Intel's public hardware table.
"""

from pathlib import Path

import msgspec


class Family(msgspec.Struct, frozen=True):
    """A generation of devices. `tiled` parts may consist of several tiles."""

    architecture: str
    discrete: bool
    # First and last id of each range.
    ids: tuple[tuple[int, int], ...]
    tiled: bool = False


_FAMILIES: tuple[Family, ...] = (
    Family(
        "Xe-HPC (Ponte Vecchio)",
        True,
        (
            (0x0B69, 0x0B69),
            (0x0B6E, 0x0B6E),
            (0x0BD0, 0x0BE5),
        ),
        tiled=True,
    ),
    Family("Xe2-HPG (Battlemage)", True, ((0xE202, 0xE223),)),
    Family(
        "Xe-HPG (Alchemist)",
        True,
        (
            (0x5690, 0x5697),
            (0x56A0, 0x56C2),
        ),
    ),
    Family("Xe-LP (DG1)", True, ((0x4905, 0x4909),)),
    Family("Xe3P (Crescent Island)", True, ((0x674C, 0x6750),)),
    Family(
        "Xe3 (Panther/Wildcat Lake)",
        False,
        (
            (0xB080, 0xB0B0),
            (0xFD80, 0xFD80),
            (0xFD81, 0xFD81),
        ),
    ),
    Family(
        "Xe2-LPG (Lunar Lake)",
        False,
        (
            (0x6420, 0x6420),
            (0x64A0, 0x64A0),
            (0x64B0, 0x64B0),
        ),
    ),
    Family(
        "Xe-LPG (Arrow Lake)",
        False,
        (
            (0x7D41, 0x7D41),
            (0x7D51, 0x7D51),
            (0x7D67, 0x7D67),
            (0x7DD1, 0x7DD1),
            (0xB640, 0xB640),
        ),
    ),
    Family(
        "Xe-LPG (Meteor Lake)",
        False,
        (
            (0x7D40, 0x7D40),
            (0x7D45, 0x7D45),
            (0x7D55, 0x7D55),
            (0x7D60, 0x7D60),
            (0x7DD5, 0x7DD5),
        ),
    ),
    Family(
        "Xe-LP (Raptor Lake)",
        False,
        (
            (0xA720, 0xA721),
            (0xA780, 0xA7AD),
        ),
    ),
    Family(
        "Xe-LP (Alder Lake)",
        False,
        (
            (0x4626, 0x462A),
            (0x4680, 0x46D4),
        ),
    ),
    Family("Xe-LP (Rocket Lake)", False, ((0x4C80, 0x4C9A),)),
    Family("Xe-LP (Tiger Lake)", False, ((0x9A40, 0x9AF8),)),
    Family(
        "Gen11 (Elkhart/Jasper Lake)",
        False,
        (
            (0x4541, 0x4571),
            (0x4E51, 0x4E71),
        ),
    ),
    Family("Gen11 (Ice Lake)", False, ((0x8A50, 0x8A71),)),
    Family(
        "Gen9.5 (Comet Lake)",
        False,
        (
            (0x9B21, 0x9B21),
            (0x9B41, 0x9B41),
            (0x9BA2, 0x9BF6),
        ),
    ),
    Family(
        "Gen9.5 (Coffee/Whiskey Lake)",
        False,
        (
            (0x3E90, 0x3EA9),
            (0x87CA, 0x87CA),
        ),
    ),
    Family(
        "Gen9.5 (Kaby Lake)",
        False,
        (
            (0x5902, 0x593B),
            (0x87C0, 0x87C0),
        ),
    ),
    Family("Gen9 (Skylake)", False, ((0x1902, 0x193D),)),
    Family("Gen8 (Broadwell)", False, ((0x1602, 0x163E),)),
    Family("NPU (Meteor Lake)", False, ((0x7D1D, 0x7D1D),)),
    Family("NPU (Arrow Lake)", False, ((0xAD1D, 0xAD1D),)),
    Family("NPU (Lunar Lake)", False, ((0x643E, 0x643E),)),
    Family("NPU (Panther Lake)", False, ((0xB03E, 0xB03E),)),
)

# A name stands here only if it is true of every product that has the id: Meteor Lake's graphics is
# called Arc with memory on two channels only.
_MODELS: dict[int, str] = {
    0x0B69: "Intel Data Center GPU Max 1450",
    0x0BD5: "Intel Data Center GPU Max 1550",
    0x0BD6: "Intel Data Center GPU Max 1550",
    0x0BD7: "Intel Data Center GPU Max 1350",
    0x0BD8: "Intel Data Center GPU Max 1350",
    0x0BD9: "Intel Data Center GPU Max 1100",
    0x0BDA: "Intel Data Center GPU Max 1100",
    0x0BDB: "Intel Data Center GPU Max 1100",
    0x4905: "Intel Iris Xe MAX Graphics",
    0x4907: "Intel Server GPU SG-1",
    0x5690: "Intel Arc A770M Graphics",
    0x5691: "Intel Arc A730M Graphics",
    0x5692: "Intel Arc A550M Graphics",
    0x5693: "Intel Arc A370M Graphics",
    0x5694: "Intel Arc A350M Graphics",
    0x56A0: "Intel Arc A770 Graphics",
    0x56A1: "Intel Arc A750 Graphics",
    0x56A2: "Intel Arc A580 Graphics",
    0x56A5: "Intel Arc A380 Graphics",
    0x56A6: "Intel Arc A310 Graphics",
    0x56C0: "Intel Data Center GPU Flex 170",
    0x56C1: "Intel Data Center GPU Flex 140",
    0xE20B: "Intel Arc B580 Graphics",
    0xE20C: "Intel Arc B570 Graphics",
    0xE211: "Intel Arc Pro B60 Graphics",
    0xE212: "Intel Arc Pro B50 Graphics",
    0x7D55: "Intel Graphics (Meteor Lake)",
    0x9B41: "Intel UHD Graphics (Comet Lake)",
}


_DATABASES = ("usr/share/hwdata/pci.ids", "usr/share/misc/pci.ids")
_UNKNOWN = Family("", False, ())


def family(device_id: int) -> Family | None:
    """The family of a device id; None for one this table does not know."""
    return next(
        (row for row in _FAMILIES if any(first <= device_id <= last for first, last in row.ids)),
        None,
    )


def architecture(device_id: int) -> str | None:
    """Architecture and code name, such as `Xe2-HPG (Battlemage)`."""
    return (family(device_id) or _UNKNOWN).architecture or None


def model(root: Path, device_id: int) -> str:
    """Product name: our table, else the machine's pci.ids, else a name made of the id."""
    name = _MODELS.get(device_id) or _from_database(root, device_id)
    if name is None and (architecture(device_id) or "").startswith("NPU"):
        return f"Intel {architecture(device_id)}"
    return name or f"Intel Device [{device_id:04x}]"


def _from_database(root: Path, device_id: int) -> str | None:
    prefix = f"\t{device_id:04x}  "
    for name in _DATABASES:
        try:
            text = (root / name).read_text("utf-8", "replace")
        except OSError:
            continue
        _, _, vendor = text.partition("\n8086  ")
        for line in vendor.splitlines()[1:]:
            if line.startswith(prefix):
                return _marketing_name(line.removeprefix(prefix).strip())
            if line and not line.startswith(("\t", "#")):
                break
    return None


def _marketing_name(text: str) -> str:
    """`DG2 [Arc A380]` as `Intel Arc A380`."""
    inner = text.partition("[")[2].partition("]")[0]
    name = inner or text
    return name if name.startswith("Intel") else f"Intel {name}"
