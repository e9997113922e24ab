"""The small texts of /sys: levels, error counts, bad pages, link speeds, names; damaged ones too."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch_amd.devices.boards import BOARDS
from accelwatch_amd.devices.names import architecture, board_name, gfx_name, parse_ids
from accelwatch_amd.sysfs.attributes import read_attributes
from accelwatch_amd.sysfs.clocks import Levels, parse_levels, read_clocks
from accelwatch_amd.sysfs.hwmon import find_hwmon, read_hwmon
from accelwatch_amd.sysfs.ras import parse_bad_pages, parse_counts
from accelwatch_amd.sysfs.tree import Tree
from backends.amd.fuzzing import FUZZ


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("0: 500Mhz\n1: 77Mhz *\n2: 2254Mhz\n", Levels(current=77, lowest=500, highest=2254)),
        ("S: 19Mhz *\n0: 615Mhz\n1: 800Mhz\n", Levels(current=19, lowest=615, highest=800)),
        ("S: 500Mhz\n1: 789Mhz *\n2: 2070Mhz\n", Levels(current=789, highest=2070)),
        ("0: 300Mhz \n1: 1900Mhz \n", Levels(lowest=300, highest=1900)),
        ("0: 687Mhz *\n1: 687Mhz *\n", Levels(current=687, lowest=687, highest=687)),
        ("0: 100Mhz *\n1: 200Mhz *\n", Levels(lowest=100, highest=200)),
        ("0: 0Mhz *\n1: 0Mhz *\n", Levels(current=0)),
        ("0: 2.5GT/s, x16 250Mhz \n", Levels()),
        ("0: 96Mhz *", Levels(current=96, lowest=96)),
        ("0: 99999999999999999999Mhz *\n", Levels()),
        ("-1: 5Mhz *\n1: -5Mhz\n: Mhz\n", Levels()),
        ("\n", Levels()),
    ],
)
def test_levels_of_a_clock(text: str, levels: Levels) -> None:
    assert parse_levels(text) == levels


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("ue: 0\nce: 12\n", {"uncorrected": 0, "corrected": 12}),
        ("ue: 1\nce: 0\nde: 4", {"uncorrected": 1, "corrected": 0, "deferred": 4}),
        ("ue: 1048560\nce: 0\n", None),
        ("ue: 0\nce: 2097120\n", None),
        ("ue: 0\nce: 1048561\n", {"uncorrected": 0, "corrected": 1048561}),
        ("ue: 1048561\nce: 0\n", None),
        ("ue: 0\nce: 0\nde: 2097123\n", None),
        ("ue: 1048559\nce: 0\n", {"uncorrected": 1048559, "corrected": 0}),
        ("ue: \nce: x\n", None),
        ("", None),
        ("query not supported\n", None),
    ],
)
def test_error_counts_of_a_block(text: str, counts: dict[str, int] | None) -> None:
    found = parse_counts(text)
    assert (found.counts if found else None) == counts


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        ("", {"R": 0, "P": 0, "F": 0}),
        ("0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : P\n", {"R": 1, "P": 1, "F": 0}),
        ("0x00000001 : 0x00001000 : R\n0x0000", None),
        ("garbage", None),
    ],
)
def test_bad_pages(text: str, pages: dict[str, int] | None) -> None:
    assert parse_bad_pages(text) == pages


@pytest.mark.parametrize(
    ("version", "device_id", "expected"),
    [
        (90402, 0x74A1, "gfx942/CDNA3"),
        (90010, 0x740F, "gfx90a/CDNA2"),
        (90500, 0x75A3, "gfx950/CDNA4"),
        (90008, 0x738C, "gfx908/CDNA1"),
        (90006, 0x66A1, "gfx906/GCN5"),
        (110000, 0x744C, "gfx1100/RDNA3"),
        (120001, 0x7550, "gfx1201/RDNA4"),
        (0, 0x74A1, "gfx942/CDNA3"),
        (130000, 0x9999, "gfx1300"),
        (0, 0x9999, None),
    ],
)
def test_architecture(version: int, device_id: int, expected: str | None) -> None:
    assert architecture(version, device_id) == expected


def test_target_names() -> None:
    assert gfx_name(100303) == "gfx1033"
    assert gfx_name(0) is None


def test_names_of_libdrm() -> None:
    text = "# comment\n1.0.0\n744C,\tC8,\tRadeon A, special\n744C,\tCC,\tRadeon B\n150E,\t00,\tC\nbroken"
    assert parse_ids(text, 0x744C, 0xC8) == "Radeon A, special"
    assert parse_ids(text, 0x744C, 0xCC) == "Radeon B"
    assert parse_ids(text, 0x150E, 0) == "C"
    assert parse_ids(text, 0x744C, 0xC9) is None
    assert (
        parse_ids(f"{text}\n744C,\tCC,\tRadeon B\n744C,\tCC,\tBM", 0x744C, 0xCC) == "Radeon B / BM"
    )


@pytest.mark.parametrize("device_id", [key for key, board in BOARDS.items() if board.revisions])
def test_a_board_whose_revision_is_unknown_has_the_name_of_its_family(device_id: int) -> None:
    """One chip is several products: none of their names is told without knowing which it is."""
    board = BOARDS[device_id]
    assert board_name(device_id, None) == board_name(device_id, 0xAB) == board.name
    assert board.name not in board.revisions.values()
    for revision, name in board.revisions.items():
        assert board_name(device_id, revision) == name


@pytest.mark.parametrize(
    ("revision", "model"),
    [
        ("0xc1\n", "AMD Radeon RX 6600 XT"),
        ("0xc7\n", "AMD Radeon RX 6600"),
        ("0x00\n", "AMD Radeon RX 6000 series (Navi 23)"),
        ("", "AMD Radeon RX 6000 series (Navi 23)"),
        (None, "AMD Radeon RX 6000 series (Navi 23)"),
    ],
)
def test_product_of_73ff_follows_from_its_revision(
    composed: Any, revision: str | None, model: str
) -> None:
    machine = composed("rx7900")
    card = machine.root / "sys/bus/pci/devices/0000:03:00.0"
    uevent = card / "uevent"
    uevent.write_text(uevent.read_text().replace("744C", "73FF"))
    if revision is None:
        (card / "revision").unlink()
    else:
        (card / "revision").write_text(revision)
    backend = machine.backend()
    (found,) = backend.discover()
    assert found.model == model
    assert backend.identify(found)[0].model == model


def test_a_listed_name_needs_the_revision_too(composed: Any) -> None:
    """Revision 0 of 7480 is a workstation card; an unreadable one may be anything."""
    machine = composed("rx7900")
    machine.tree.write("usr/share/libdrm/amdgpu.ids", "744C,\t00,\tAMD Radeon Pro\n")
    machine.failures = {"0000:03:00.0/revision": Absence.ERROR}
    assert machine.first()[0].model == "AMD Radeon RX 7000 series (Navi 31)"


def folder(files: dict[str, str | Absence]) -> Tree:
    """A tree whose files are in memory; hwmon0 is amdgpu's."""

    def read(path: Any) -> bytes | Absence:
        content = files.get(path.name, Absence.UNSUPPORTED)
        return content if isinstance(content, Absence) else content.encode("utf-8", "replace")

    return Tree(__import__("pathlib").Path("/nowhere"), read)


def values(files: dict[str, str | Absence]) -> Collected:
    out = Collected("d")
    read_hwmon(folder(files), out, limits=True)
    return out


def test_unset_limits_are_absent() -> None:
    out = values({"temp1_input": "40000", "temp1_label": "edge", "temp1_crit": "-273150"})
    assert out.values["temperature_celsius", "gpu"] == 40
    assert out.absent["temperature_limit_celsius", "gpu", "slowdown"] is Absence.ERROR


def test_power_falls_back_to_the_instant_figure() -> None:
    assert values({"power1_input": "5000000"}).values["power_watts",] == 5
    both = values({"power1_average": "3000000", "power1_input": "5000000"})
    assert both.values["power_watts",] == 3
    denied = values({"power1_average": Absence.PERMISSION})
    assert denied.absent["power_watts",] is Absence.PERMISSION


def test_firmware_marker_for_power_is_absent() -> None:
    assert values({"power1_average": "65535000000"}).absent["power_watts",] is Absence.ERROR


@pytest.mark.parametrize(
    ("rpm", "pwm", "expected"),
    [("0", "76", 0), ("900", "51", 0.2), ("900", "0", None), ("1", "300", None)],
)
def test_fan_ratio(rpm: str, pwm: str, expected: float | None) -> None:
    out = values({"fan1_input": rpm, "pwm1": pwm, "pwm1_max": "255"})
    assert out.values.get(("fan_speed_ratio", "0")) == expected
    assert (out.absent.get(("fan_speed_ratio", "0")) is Absence.ERROR) == (expected is None)


def test_hwmon_of_another_driver_is_not_taken(machine: Any) -> None:
    machine.tree.write("dev/hwmon/hwmon0/name", "nvme\n")
    machine.tree.write("dev/hwmon/hwmon1/name", "amdgpu\n")
    found = find_hwmon(Tree(machine.root / "dev"))
    assert found is not None
    assert found.folder.name == "hwmon1"


FILES = (
    *(f"temp{n}_{end}" for n in (1, 2, 3) for end in ("input", "label", "crit", "emergency")),
    *(f"power1_{end}" for end in ("average", "input", "cap", "cap_max", "cap_min", "cap_default")),
    *("fan1_input", "pwm1", "pwm1_max", "freq1_input", "freq1_label", "freq2_input"),
    *("in0_input", "in0_label", "in1_input", "in1_label"),
    *("gpu_busy_percent", "mem_busy_percent", "mem_info_vram_total", "mem_info_vram_used"),
    *("mem_info_gtt_total", "mem_info_gtt_used", "pp_dpm_sclk", "pp_dpm_mclk"),
)
CONTENT = st.one_of(
    st.sampled_from(
        ["edge", "junction", "mem", "vddgfx", "vddnb", "sclk", "", "\0" * 9, "-273150"]
    ),
    st.integers(-(10**25), 10**25).map(str),
    st.integers(0, 10**9).map(str),
    st.text(max_size=12),
    st.sampled_from(list(Absence)),
)


@FUZZ
@given(st.dictionaries(st.sampled_from(FILES), CONTENT))
def test_any_content_gives_believable_values_or_none(files: dict[str, str | Absence]) -> None:
    tree, out = folder(files), Collected("d")
    read_attributes(tree, out)
    read_hwmon(tree, out, limits=True)
    read_clocks(tree, out, limits=True)
    for series, value in out.values.items():
        assert value >= 0, series
        if series[0] in ("utilization_ratio", "memory_controller_utilization_ratio"):
            assert value <= 1
        if series[0] == "power_watts":
            assert value <= 10_000
    for series in out.values:
        assert series not in out.absent
    used = out.values.get(("memory_used_bytes",), 0)
    assert used <= out.values.get(("memory_size_bytes",), used)


@FUZZ
@given(st.text(max_size=200))
def test_any_text_through_the_parsers(text: str) -> None:
    numbers = {int(number) for number in re.findall(r"\d+", text)}
    levels = parse_levels(text)
    assert {levels.current, levels.lowest, levels.highest} <= numbers | {None}
    counts = parse_counts(text)
    assert counts is None or set(counts.counts.values()) <= numbers
    parse_bad_pages(text)
    parse_ids(text, 0x744C, 0xC8)


@FUZZ
@given(
    st.lists(st.sampled_from(["ue: 3", "ce: 40", "de: 1", "u", "ce:", "0: 500Mhz *", "S: 1Mhz"])),
    st.data(),
)
def test_cut_texts(lines: list[str], data: Any) -> None:
    text = "\n".join(lines)
    cut = text[: data.draw(st.integers(0, len(text)))]
    counts = parse_counts(cut)
    assert counts is None or set(counts.counts.values()) <= {3, 40, 1, 4}
    parse_levels(cut)
