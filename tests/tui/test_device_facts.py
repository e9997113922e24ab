"""Where a quantity stands among the facts of a device."""

import re

import msgspec
import pytest

from accelwatch.schema.metrics import Series
from accelwatch.schema.snapshot import DeviceView
from accelwatch.tui.drawing.glyphs import ASCII, UNICODE
from accelwatch.tui.drawing.lines import width_of
from accelwatch.tui.local.devices import facts as device_facts
from accelwatch.tui.local.devices import tiles as device_tiles
from accelwatch.tui.local.devices.quantity_names import quantity_name
from support.dashboards.local import texts
from support.machines.composed import lost_view, snapshot, view


def section_of(series: Series) -> str:
    """Title under which the series is listed."""
    one = view(0)
    values = {**one.reading.values, series: 0}
    shown = msgspec.structs.replace(
        one, reading=msgspec.structs.replace(one.reading, values=values)
    )
    title = ""
    for line in device_facts.lines(shown, snapshot(shown), 120, ASCII):
        title = next((text for text, role in line if role == "title"), title)
        if any(quantity_name(series) in text for text, _ in line):
            return title
    return "not listed"


@pytest.mark.parametrize(
    "series",
    [
        ("memory_repair_pending",),
        ("memory_unrepairable",),
        ("memory_row_remap_banks", "low"),
        ("memory_remapped_rows_inactive", "corrected"),
        ("sram_error_threshold_exceeded",),
        ("compute_repair_pending",),
        ("ecc_enabled_pending",),
        ("fabric_clique_info", "2"),
    ],
)
def test_what_a_device_says_of_its_health_stands_together(series: Series) -> None:
    assert section_of(series) == "Health"


def test_activity_is_load() -> None:
    assert section_of(("compute_active_ratio",)) == "Load"
    assert section_of(("compute_occupancy_ratio",)) == "Load"


def shown(width: int = 120) -> str:
    return texts(device_facts.lines(view(0), snapshot(view(0)), width, UNICODE))


def test_the_figures_people_look_for_come_first_with_their_limits() -> None:
    text = shown()
    for tile in ("642/700 W", "61/89°C", "61.0/80.0 GiB", "97%", "1980 MHz"):
        assert text.index(tile) < text.index("Identity"), tile


def test_a_figure_without_a_limit_has_no_bar_and_one_that_is_not_given_no_tile() -> None:
    one = view(0)
    left = {("power_watts",), ("temperature_celsius", "gpu")}
    values = {series: value for series, value in one.reading.values.items() if series in left}
    bare = msgspec.structs.replace(one, reading=msgspec.structs.replace(one.reading, values=values))
    tiles = device_tiles.tiles(bare, UNICODE)
    assert [(tile.title, tile.share) for tile in tiles] == [
        ("power", None),
        ("temp GPU", None),
    ]
    assert "━" not in texts(device_tiles.tile_lines(bare, 100, UNICODE))


@pytest.mark.parametrize("width", [40, 80, 149, 150, 220])
def test_lines_are_no_wider_than_the_screen(width: int) -> None:
    for one in (view(0), lost_view(1)):
        for line in device_facts.lines(one, snapshot(one), width, UNICODE):
            assert width_of(line) <= width


def test_sections_stand_beside_each_other_where_there_is_room() -> None:
    narrow, wide = shown(140).splitlines(), shown(160).splitlines()
    assert len(wide) < len(narrow) * 0.7
    assert any(line.count("─ ") == 2 for line in wide)


def test_what_is_not_given_is_folded_under_its_reason() -> None:
    text = shown()
    assert text.count("not given by this driver: ") == 1
    assert "unsupported" not in text


def test_of_a_lost_device_everything_is_gone_in_one_line() -> None:
    gone = lost_view(1)
    assert "gone with the device: every quantity" in texts(
        device_facts.lines(gone, snapshot(gone), 120, UNICODE)
    )


@pytest.mark.parametrize(
    ("series", "name"),
    [
        (("memory_bandwidth_utilization_ratio",), "memory bandwidth utilization"),
        (("ecc_errors_total", "uncorrected"), "ECC errors, uncorrected"),
        (("pcie_link_width_lanes",), "PCIe link width lanes"),
        (("energy_joules_total", "hardware"), "energy, hardware"),
        (("temperature_limit_celsius", "gpu", "slowdown"), "temperature limit, GPU slowdown"),
    ],
)
def test_quantities_are_called_by_words(series: Series, name: str) -> None:
    assert quantity_name(series) == name


@pytest.mark.parametrize("one", [view(0), lost_view(3)])
def test_the_first_line_names_the_device(one: DeviceView) -> None:
    first = device_facts.lines(one, snapshot(one), 80, UNICODE)[0]
    assert first[0] == (f" {one.device.name}", "strong")


@pytest.mark.parametrize("width", [30, 40, 60, 80])
def test_the_head_of_a_device_gives_up_whole_facts(width: int) -> None:
    one = view(0, sample_age_s=0.1)
    whole = texts(device_facts.state_lines(one, snapshot(one), 100, UNICODE)[:1]).rstrip()
    head = texts(device_facts.state_lines(one, snapshot(one), width, UNICODE)[:1]).rstrip()
    assert whole.endswith("sample 0.1 s old")
    assert whole.startswith(head)
    assert (whole + "   ")[len(head) : len(head) + 2] == "  "


def test_a_lost_device_has_no_sample() -> None:
    one = msgspec.structs.replace(lost_view(1), sample_age_s=None)
    head = texts(device_facts.state_lines(one, snapshot(one), 100, UNICODE)[:1])
    assert head.rstrip().endswith("no sample")


def test_flags_are_yes_or_no_and_energy_has_a_unit_for_people() -> None:
    one = view(0)
    values = {
        **one.reading.values,
        ("reset_required",): 0,
        ("memory_repair_pending",): 1,
        ("energy_joules_total", "hardware"): 5_400_002.1e3,
    }
    changed = msgspec.structs.replace(
        one, reading=msgspec.structs.replace(one.reading, values=values)
    )
    lines = texts(device_facts.lines(changed, snapshot(changed), 120, UNICODE)).splitlines()
    parts = (re.split(r"  +", line.strip()) for line in lines)
    figures = {name: more[0] for name, *more in parts if more}
    assert figures["reset required"] == "no"
    assert figures["memory repair pending"] == "yes"
    assert figures["energy, hardware"] == "1.5 MWh"


def test_the_load_has_one_name() -> None:
    text = shown()
    assert "utilization" in text
    assert "utilisation" not in text


@pytest.mark.parametrize("width", [80, 120, 200])
def test_no_label_is_cut_beside_free_space(width: int) -> None:
    one = view(0)
    more = {
        ("temperature_limit_celsius", "memory", "max_operating"): 95,
        ("clock_hertz", "graphics"): 1980e6,
        ("clock_limit_hertz", "graphics", "max"): 1980e6,
        ("clock_hertz", "memory"): 2619e6,
        ("clock_limit_hertz", "memory", "max"): 2619e6,
    }
    reading = msgspec.structs.replace(one.reading, values={**one.reading.values, **more})
    one = msgspec.structs.replace(one, reading=reading)
    text = texts(device_facts.lines(one, snapshot(one), width, UNICODE))
    assert "…" not in text
    for label in ("temperature limit, memory max operating", "clock graphics ", "clock memory "):
        assert label in text
