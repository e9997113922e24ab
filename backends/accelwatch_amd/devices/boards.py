"""Boards by PCI device id, and by revision where one id is several products.

Device ids and market names: AMD's product pages, Linux drivers/gpu/drm/amd/amdgpu/amdgpu_drv.c, and
libdrm's list of ids, which separates products of one chip by their revision.
"""

import msgspec


class Board(msgspec.Struct, frozen=True):
    """What one device id is. `name` is true of every product that has the id."""

    name: str
    gfx: str
    # Market name by PCI revision.
    revisions: dict[int, str] = {}


BOARDS: dict[int, Board] = {
    0x66A1: Board(
        "AMD Vega 20",
        "gfx906",
        {0x02: "AMD Instinct MI50/MI60", 0x06: "AMD Radeon Pro VII"},
    ),
    0x738C: Board("AMD Instinct MI100", "gfx908"),
    0x7408: Board("AMD Instinct MI250X", "gfx90a"),
    0x740C: Board("AMD Instinct MI250X/MI250", "gfx90a"),
    0x740F: Board("AMD Instinct MI210", "gfx90a"),
    0x74A0: Board("AMD Instinct MI300A", "gfx942"),
    0x74A1: Board("AMD Instinct MI300X", "gfx942"),
    0x74A2: Board("AMD Instinct MI308X", "gfx942"),
    0x74A5: Board("AMD Instinct MI325X", "gfx942"),
    0x74B5: Board("AMD Instinct MI300X VF", "gfx942"),
    0x75A0: Board("AMD Instinct MI350X", "gfx950"),
    0x75A3: Board("AMD Instinct MI355X", "gfx950"),
    0x687F: Board("AMD Radeon RX Vega", "gfx900"),
    0x67DF: Board(
        "AMD Radeon 400/500 series (Polaris)",
        "gfx803",
        {
            **dict.fromkeys((0xC0, 0xEB), "AMD Radeon Pro 580X"),
            **dict.fromkeys((0xC1, 0xC3, 0xE7), "AMD Radeon RX 580"),
            **dict.fromkeys((0xC2, 0xC6, 0xEF), "AMD Radeon RX 570"),
            **dict.fromkeys((0xC4, 0xC7), "AMD Radeon RX 480"),
            **dict.fromkeys((0xC5, 0xCF, 0xD7, 0xE0, 0xFF), "AMD Radeon RX 470"),
            0xE1: "AMD Radeon RX 590",
        },
    ),
    0x731F: Board(
        "AMD Radeon RX 5000 series (Navi 10)",
        "gfx1010",
        {
            0xC0: "AMD Radeon RX 5700 XT 50th Anniversary",
            **dict.fromkeys((0xC1, 0xC5), "AMD Radeon RX 5700 XT"),
            0xC2: "AMD Radeon RX 5600M",
            0xC3: "AMD Radeon RX 5700M",
            0xC4: "AMD Radeon RX 5700",
            0xCA: "AMD Radeon RX 5600 XT",
            0xCB: "AMD Radeon RX 5600 OEM",
        },
    ),
    0x7340: Board(
        "AMD Radeon RX 5000 series (Navi 14)",
        "gfx1012",
        {
            0xC1: "AMD Radeon RX 5500M",
            0xC3: "AMD Radeon RX 5300M",
            0xC5: "AMD Radeon RX 5500 XT",
            0xC7: "AMD Radeon RX 5500",
            0xCF: "AMD Radeon RX 5300",
        },
    ),
    0x73BF: Board(
        "AMD Radeon RX 6000 series (Navi 21)",
        "gfx1030",
        {
            0xC0: "AMD Radeon RX 6900 XT",
            0xC1: "AMD Radeon RX 6800 XT",
            0xC3: "AMD Radeon RX 6800",
        },
    ),
    0x73FF: Board(
        "AMD Radeon RX 6000 series (Navi 23)",
        "gfx1032",
        {
            0xC1: "AMD Radeon RX 6600 XT",
            0xC3: "AMD Radeon RX 6600M",
            0xC7: "AMD Radeon RX 6600",
            0xCB: "AMD Radeon RX 6600S",
            0xCF: "AMD Radeon RX 6600 LE",
            0xDF: "AMD Radeon RX 6750 GRE 10GB",
        },
    ),
    0x744C: Board(
        "AMD Radeon RX 7000 series (Navi 31)",
        "gfx1100",
        {
            0xC8: "AMD Radeon RX 7900 XTX",
            0xCC: "AMD Radeon RX 7900 XT",
            0xCE: "AMD Radeon RX 7900 GRE",
            0xCF: "AMD Radeon RX 7900M",
        },
    ),
    0x747E: Board(
        "AMD Radeon RX 7000 series (Navi 32)",
        "gfx1101",
        {
            0xC8: "AMD Radeon RX 7800 XT",
            0xD8: "AMD Radeon RX 7800M",
            0xDB: "AMD Radeon RX 7700",
            0xFF: "AMD Radeon RX 7700 XT",
        },
    ),
    0x7480: Board(
        "AMD Radeon 7000 series (Navi 33)",
        "gfx1102",
        {
            0x00: "AMD Radeon Pro W7600",
            0xC0: "AMD Radeon RX 7600 XT",
            0xC1: "AMD Radeon RX 7700S",
            0xC2: "AMD Radeon RX 7650 GRE",
            0xC3: "AMD Radeon RX 7600S",
            0xC7: "AMD Radeon RX 7600M XT",
            0xCF: "AMD Radeon RX 7600",
        },
    ),
    0x7550: Board(
        "AMD Radeon RX 9000 series (Navi 48)",
        "gfx1201",
        {
            0xC0: "AMD Radeon RX 9070 XT",
            0xC2: "AMD Radeon RX 9070 GRE",
            0xC3: "AMD Radeon RX 9070",
        },
    ),
    0x163F: Board("AMD Van Gogh", "gfx1033"),
    0x150E: Board("AMD Strix Point", "gfx1150"),
}
