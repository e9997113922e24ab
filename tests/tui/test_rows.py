"""Device rows, process rows and the sharing out of lines, at every width."""

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.schema.device import DeviceState
from accelwatch.schema.snapshot import DeviceView, EventCount
from accelwatch.schema.status.device_status import WORST_FIRST
from accelwatch.schema.status.verdict import verdict
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.columns import GAP
from accelwatch.tui.drawing.device_signs import STATE_ROLES
from accelwatch.tui.drawing.glyphs import ASCII, UNICODE, Glyphs
from accelwatch.tui.drawing.lines import Line, plain, width_of
from accelwatch.tui.local.devices import cells as device_cells
from accelwatch.tui.local.devices import rows as device_rows
from accelwatch.tui.local.local_plan import plan
from accelwatch.tui.local.processes import rows as process_rows
from accelwatch.tui.local.processes.arranging import arranged, rows_of
from accelwatch.tui.local.processes.columns import BY_ID, COLUMNS, columns_for
from accelwatch.tui.local.processes.rows import column_at
from support.dashboards.local import busy_view, hung, lost, node, stale
from support.machines.composed import mig_view

WIDTHS = (20, 40, 56, 60, 76, 80, 99, 100, 120, 132, 140, 200, 320)
GLYPHS = (UNICODE, ASCII)


def with_values(**changes: float) -> DeviceView:
    one = busy_view(1)
    found = dict(one.reading.values)
    found.update({(key,): value for key, value in changes.items()})
    return msgspec.structs.replace(one, reading=msgspec.structs.replace(one.reading, values=found))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("glyphs", GLYPHS, ids=["unicode", "ascii"])
def test_every_row_fills_the_width_exactly(width: int, glyphs: Glyphs) -> None:
    shot = node()
    for view in (busy_view(1), lost(2), hung(3), stale(4), mig_view(1, 0)):
        lines: list[Line] = [device_rows.row(view, shot, width, glyphs)]
        lines += device_rows.block(view, shot, width, glyphs)
        assert {width_of(line) for line in lines} == {width}
        if glyphs.ascii_only:
            assert all(plain(line).isascii() for line in lines)
    assert width_of(device_rows.heading(width, UNICODE)) == width


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_name_and_three_figures_are_on_every_width(width: int) -> None:
    view = with_values(utilization_ratio=0.42)
    text = plain(device_rows.row(view, node(), width, UNICODE))
    assert "nvidia1" in text
    assert "42%" in text
    assert "°C" in text
    assert "%" in text or "GiB" in text


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize(
    ("view", "word"), [(lost(2), "lost"), (hung(2), "hung"), (stale(2), "stale")]
)
def test_trouble_is_shown_in_words_on_every_width(view: DeviceView, word: str, width: int) -> None:
    text = plain(device_rows.row(view, node(), width, UNICODE))
    assert word in text
    assert verdict(view, node()).summary[:12] in text
    assert "%" not in text


def test_a_lost_device_shows_reason_and_since_when() -> None:
    line = device_rows.row(lost(3), node(), 140, UNICODE)
    text = plain(line)
    assert "✕ lost" in text
    assert "10 min  the device is lost → drain the node and reboot it" in text
    assert ("bad", True) in {(role, "drain the node" in span) for span, role in line}


def test_flags_and_throttle_reasons() -> None:
    one = busy_view(1)
    found = {
        **one.reading.values,
        ("ecc_errors_total", "uncorrected"): 2,
        ("throttle_active", "power"): 1,
        ("throttle_active", "thermal_hardware"): 1,
        ("interconnect_links", "nvlink", "down"): 3,
        ("reset_required",): 1,
        ("memory_repair_pending",): 1,
    }
    view = msgspec.structs.replace(
        one,
        reading=msgspec.structs.replace(one.reading, values=found),
        event_counts=(EventCount(code="xid_79", category="bus", total=4, last_time=0.0),),
    )
    assert device_cells.flags(view) == "E2 X4 L3 M R"
    assert device_cells.throttle(view) == "hot (hw)"
    assert device_cells.flags(busy_view(1)) == ""
    assert device_cells.throttle(busy_view(1)) == ""


def test_an_absent_value_is_a_dash_never_zero() -> None:
    one = busy_view(1)
    values = {k: v for k, v in one.reading.values.items() if k[0] not in ("power_watts",)}
    view = msgspec.structs.replace(one, reading=msgspec.structs.replace(one.reading, values=values))
    assert plain(device_cells.power_cell(view, 10, UNICODE)).strip() == "-"


def test_a_partition_without_a_busy_ratio_shows_its_compute_units() -> None:
    assert "50%" in plain(device_cells.utilization_cell(mig_view(1, 0), 10, UNICODE))


@pytest.mark.parametrize("ratio", [0.0, 0.004, 0.5, 1.0, 1.7])
@pytest.mark.parametrize("glyphs", GLYPHS, ids=["unicode", "ascii"])
def test_bars_keep_their_width(ratio: float, glyphs: Glyphs) -> None:
    assert width_of(fmt.bar(ratio, 13, glyphs, "load")) == 13
    drawn = fmt.bar(ratio, 13, glyphs, "load")[0][0]
    assert bool(drawn) is (ratio > 0)


def test_limits_turn_a_value_to_warning_and_bad() -> None:
    assert fmt.limit_role(61, 89, 5) == "text"
    assert fmt.limit_role(85, 89, 5) == "warn"
    assert fmt.limit_role(89, 89, 5) == "bad"
    assert fmt.limit_role(None, 89, 5) == "faint"
    assert fmt.limit_role(200, None, 5) == "text"


def test_every_state_has_a_word_a_sign_and_a_role() -> None:
    for state in DeviceState:
        assert state in UNICODE.states
        assert state in ASCII.states
        assert state in STATE_ROLES
        assert state in WORST_FIRST
    for glyphs in GLYPHS:
        signs = [*glyphs.states.values(), glyphs.stale, glyphs.failed, glyphs.hot]
        assert len(set(signs)) == len(signs)
        assert {width_of([(sign, "text")]) for sign in signs} == {1}


def test_absence_has_words_for_every_reason() -> None:
    for reason in Absence:
        view = lost(1)
        reading = msgspec.structs.replace(view.reading, absent={("*",): reason})
        quiet = msgspec.structs.replace(view, reading=reading, health_reasons=())
        assert verdict(quiet, msgspec.structs.replace(node(), errors=())).summary


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("glyphs", GLYPHS, ids=["unicode", "ascii"])
def test_process_rows_fill_the_width_exactly(width: int, glyphs: Glyphs) -> None:
    shot = node()
    rows = arranged(rows_of(shot.devices), "gpu_memory", descending=True, tree=True)
    for row in rows[:12]:
        line = process_rows.line(row, shot, width, glyphs, tagged=True, mine="ada")
        assert width_of(line) == width
        assert not glyphs.ascii_only or plain(line).isascii()
    assert width_of(process_rows.heading(width, "pid", False, glyphs)) == width


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_pid_device_and_command_are_on_every_width(width: int) -> None:
    chosen = {column.id for column, _ in columns_for(width)}
    assert {"pid", "device", "gpu_memory", "command"} <= chosen


@pytest.mark.parametrize("column", [column.id for column in COLUMNS])
def test_every_column_sorts_both_ways_and_the_unknown_come_last(column: str) -> None:
    rows = rows_of(node().devices)
    value = BY_ID[column].order
    for descending in (False, True):
        ordered = [value(row) for row in arranged(rows, column, descending=descending, tree=False)]
        known = [one for one in ordered if one is not None]
        assert ordered[: len(known)] == known
        assert len(ordered) == 24
        folded = [one.lower() if isinstance(one, str) else one for one in known]
        assert folded == sorted(folded, reverse=descending)


def test_a_click_finds_its_column() -> None:
    x = 1
    for column, size in columns_for(140):
        assert column_at(140, x) == column.id
        x += size + GAP


def test_control_characters_of_a_command_do_not_reach_the_terminal() -> None:
    row = rows_of(node(1).devices)[0]
    assert row.process is not None
    evil = msgspec.structs.replace(row.process, command="\x1b[31mred\n\x07")
    line = process_rows.line(
        msgspec.structs.replace(row, process=evil), node(1), 120, UNICODE, tagged=False, mine=""
    )
    assert plain(line).isprintable()


@pytest.mark.parametrize("rows", range(12, 70, 3))
@pytest.mark.parametrize("count", [0, 1, 2, 3, 8, 16, 17, 64, 500])
@pytest.mark.parametrize("density", ["auto", "compact", "full"])
def test_the_lines_are_shared_out_without_remainder(rows: int, count: int, density: str) -> None:
    shared = plan(rows, count, density, grid_lines=count // 10 + 4)
    assert shared.header + shared.devices + shared.strip + shared.processes + 1 == rows
    assert shared.devices >= 2
    assert shared.processes >= 3
    assert shared.strip == 0 or shared.strip >= 4


def test_the_density_rule() -> None:
    forms = [plan(50, count, "auto", 10).form for count in (1, 2, 3, 16, 17, 200)]
    assert forms == ["full", "full", "rows", "rows", "grid", "grid"]
    assert plan(50, 8, "full", 10).form == "full"
    assert plan(50, 100, "compact", 10).form == "rows"


def test_eight_devices_are_whole_on_24_lines() -> None:
    assert plan(24, 8, "auto", 10).devices == 9


@pytest.mark.parametrize("rows", [24, 40, 60, 100])
@pytest.mark.parametrize("processes", [0, 3, 18, 200])
def test_graphs_fill_what_processes_leave_and_never_their_least(rows: int, processes: int) -> None:
    usual = plan(rows, 8, "auto", 10)
    shared = plan(rows, 8, "auto", 10, processes)
    assert shared.header + shared.devices + shared.strip + shared.processes == rows - 1
    assert shared.strip >= usual.strip
    if shared.strip > usual.strip:
        assert processes < shared.processes <= processes + 5
    assert shared.processes >= min(processes + 1, usual.processes)


def test_a_process_more_does_not_change_the_height_of_graphs_each_time() -> None:
    heights = [plan(60, 8, "auto", 10, count).strip for count in range(10, 20)]
    assert len(set(heights)) <= 3


def test_a_device_that_was_never_read_is_called_by_where_it_sits() -> None:
    one = lost(2)
    bare = msgspec.structs.replace(one.device, model=None)
    view = msgspec.structs.replace(one, device=bare)
    assert fmt.model_name(view) == bare.pci_bus_id
    nowhere = msgspec.structs.replace(view, device=msgspec.structs.replace(bare, pci_bus_id=None))
    assert fmt.model_name(nowhere) == "-"
