"""The map of a fleet: quiet where all is well, loud where something is wrong, aligned, roomy."""

import math

import msgspec
import pytest

from accelwatch.fleet.picture.model import UTILIZATION, FleetView
from accelwatch.schema.snapshot import Snapshot
from accelwatch.tui.drawing.device_signs import FILLED
from accelwatch.tui.drawing.glyphs import UNICODE
from accelwatch.tui.drawing.lines import Line, plain, width_of
from accelwatch.tui.fleet.board import FleetBoard
from accelwatch.tui.fleet.cells import value_cells
from accelwatch.tui.fleet.cells.device_cell import device_cell
from accelwatch.tui.fleet.cells.render_context import RenderContext
from accelwatch.tui.fleet.map.grid import Grid
from accelwatch.tui.fleet.map.grid_lines import grid_line, wrong_line
from accelwatch.tui.fleet.recent_loads import MOST_DEVICES, STEP_S, STEPS
from accelwatch.tui.fleet.steady_values import SteadyValues
from accelwatch.tui.theme.preferences import Preferences
from support.dashboards.fleets import FAULTS, FedFleet, FleetStage, fleet_view, on
from support.dashboards.local import node as machine


def board_for(view: FleetView) -> FleetBoard:
    """The board of a fleet at one tick."""
    board = FleetBoard(Preferences(), lambda: 0.0, "")
    for _ in board.count(view):
        pass
    return board


def context_for(board: FleetBoard) -> RenderContext:
    """How a test looks at a fleet."""
    return RenderContext(
        board=board,
        glyphs=UNICODE,
        group="none",
        shade="load",
        plot="braille",
        since_s=0.0,
        silent=False,
    )


def lines_of(view: FleetView, width: int, height: int) -> tuple[Grid, list[Line]]:
    """The map of a fleet in a room."""
    board = board_for(view)
    grid = Grid(board.rows, (), width, height)
    return grid, [grid_line(line, context_for(board), grid.shape) for line in grid.lines]


def roles_of(line: Line) -> set[str]:
    return {role for text, role in line if text.strip()}


@pytest.mark.parametrize("width", range(1, 23))
@pytest.mark.parametrize(
    ("fault", "role"),
    [
        ({}, "quiet"),
        ({"n001/0": "lost"}, "alarm"),
        ({"n001/0": "unresponsive"}, "alarm"),
        ({"n001/0": "missing"}, "alarm"),
        ({"n001/0!": "failed"}, "alarm"),
        ({"n001/0!": "degraded"}, "caution"),
    ],
)
def test_a_fault_is_a_filled_cell_and_a_healthy_device_is_quiet(
    fault: dict[str, str], role: str, width: int
) -> None:
    view = fleet_view(1, faults=fault)
    context = context_for(board_for(view))
    shown = device_cell(view.devices[0], context, width, live=True)
    assert width_of(shown) == width
    assert shown[0][1].startswith(role)
    filled = sum(len(text) for text, name in shown if name in FILLED)
    assert filled == (
        0 if role == "quiet" else width if width < 3 else max(width - 1, 2) if width >= 7 else 2
    )


def test_a_device_that_works_is_a_brighter_shade_than_one_that_idles() -> None:
    view = fleet_view(1)
    context = context_for(board_for(view))
    loads = {now.values[0]: device_cell(now, context, 2, live=True)[0] for now in view.devices}
    idle, low, high = loads[0.0], loads[0.37], loads[0.85]
    assert [role for _, role in (idle, low, high)] == ["quiet0", "quiet1", "quiet2"]
    assert idle[0] < low[0] < high[0]


@pytest.mark.parametrize(
    ("nodes", "size", "named", "cell"),
    [
        (8, (200, 40), "every", 22),
        (24, (120, 30), "every", 14),
        (24, (80, 30), "every", 9),
        (24, (40, 30), "every", 3),
        (63, (120, 30), "every", 3),
        (63, (80, 15), "every", 1),
        (800, (200, 44), "lines", 1),
    ],
)
def test_the_map_uses_its_room_and_shows_all_at_once(
    nodes: int, size: tuple[int, int], named: str, cell: int
) -> None:
    grid, lines = lines_of(fleet_view(nodes, faults=FAULTS), *size)
    assert grid.shape.cell == cell
    assert len(lines) <= size[1]
    assert max(map(width_of, lines)) <= size[0]
    text = "\n".join(map(plain, lines))
    names = [f"n{number:03d}" for number in range(1, nodes + 1)]
    if named == "lines":
        names = [line.blocks[0].row.node for line in grid.lines]
    assert all(name in text for name in names)


@pytest.mark.parametrize("size", [(120, 30), (80, 15), (200, 3), (60, 2)])
@pytest.mark.parametrize("bare", ["n002", "n009"])
def test_a_node_without_devices_shifts_no_other(size: tuple[int, int], bare: str) -> None:
    usual, _ = lines_of(fleet_view(12), *size)
    given, _ = lines_of(fleet_view(12, faults={bare: "never"}), *size)

    def starts(grid: Grid) -> dict[str, tuple[int, int]]:
        return {
            block.row.node: (number, block.x)
            for number, line in enumerate(grid.lines)
            for block in line.blocks
        }

    assert starts(usual) == starts(given)


@pytest.mark.parametrize("index", [0, 3, 7])
def test_where_a_device_is_one_cell_a_fault_is_two_and_shifts_no_other_node(index: int) -> None:
    grid, lines = lines_of(fleet_view(12, faults={f"n001/{index}": "lost"}), 60, 3)
    assert grid.shape.cell == 1
    filled = [text for text, role in lines[0] if role == "alarm"]
    assert filled == ["✕ "]
    _, usual = lines_of(fleet_view(12), 60, 3)
    assert (
        plain(lines[0])[grid.lines[0].blocks[1].x :] == plain(usual[0])[grid.lines[0].blocks[1].x :]
    )


def test_wide_cells_show_figure_word_and_the_last_minutes() -> None:
    board = board_for(fleet_view(8, faults=FAULTS))
    view = board.view
    assert view is not None
    for step in range(1, 5):
        for _ in board.count(msgspec.structs.replace(view, time=view.time + step * STEP_S)):
            pass
    grid = Grid(board.rows, (), 200, 40)
    lines = [plain(grid_line(line, context_for(board), grid.shape)) for line in grid.lines]
    assert "✕ lost" in lines[1]
    assert "▂  33%" in lines[1]
    assert "⣀" in lines[0] or "⣿" in lines[0] or "⣤" in lines[0]
    still = FleetBoard(Preferences(), lambda: 0.0, "")
    for _ in still.count(view):
        pass
    assert not any(value == value for value in still.recent.of(0, STEPS))


@pytest.mark.parametrize("steps", [1, 3, STEPS + 5])
def test_loads_are_kept_by_whole_steps_and_a_gap_has_no_value(steps: int) -> None:
    view = fleet_view(1)
    board = board_for(view)
    for _ in board.count(msgspec.structs.replace(view, time=view.time + steps * STEP_S)):
        pass
    kept = board.recent.of(1, STEPS)
    known = [value for value in kept if value == value]
    assert len(kept) == STEPS
    assert known == ([view.devices[1].values[0]] if steps <= STEPS else [])
    if known:
        assert kept[-steps] == known[0]


def test_going_back_in_time_or_too_many_devices_forget_the_loads() -> None:
    view = fleet_view(1)
    later = msgspec.structs.replace(view, time=view.time + STEP_S)
    for last in (view, fleet_view(MOST_DEVICES // 8 + 1)):
        board = board_for(view)
        for shown in (later, last):
            for _ in board.count(shown):
                pass
        known = [value for value in board.recent.of(1, STEPS) if value == value]
        assert known == []


def test_faults_are_listed_below_worst_first_and_x_leads_to_each() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("m", "home")
        listed = stage.line_with(" wrong: ")
        positions = [listed.index(name) for name in ("n003 ?", "n002 ✕ 2 lost", "n006 □ nvidia7")]
        assert positions == sorted(positions)
        assert "x next" in listed
        seen = []
        for _ in range(9):
            await stage.press("x")
            seen.append(" ".join(stage.text().splitlines()[-4].split()))
        wanted = ["nvidia3 ✕ lost", "nvidia5 ✕ lost", "n003", "nvidia1 ▲", "n005", "nvidia7 □"]
        assert all(word in line for word, line in zip(wanted, seen, strict=False))

    on(check)


def test_of_more_faults_than_fit_the_rest_is_counted() -> None:
    board = board_for(fleet_view(40, faults={f"n{n:03d}/1": "lost" for n in range(1, 31)}))
    line = wrong_line(context_for(board), 80)
    assert width_of(line) <= 80
    text = plain(line)
    assert text.startswith(" 30 wrong: n001 ✕ nvidia1 lost · n002")
    shown = text.count("lost")
    assert f"+{30 - shown}   x next" in text
    assert wrong_line(context_for(board_for(fleet_view(3))), 80) == []


def named_as_in_the_fleet(first: int) -> Snapshot:
    """A machine whose devices have the ids of a node of the fleet, from a slot on."""
    shot = machine(8)
    views = [
        msgspec.structs.replace(
            view, device=msgspec.structs.replace(view.device, id=f"nvidia:GPU-{first + n:06d}")
        )
        for n, view in enumerate(shot.devices)
    ]
    return msgspec.structs.replace(shot, devices=tuple(views))


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        (("x", "enter"), "nvidia3"),
        (("m", "home", *["right"] * 8, "enter"), "nvidia0"),
        (("m", "home", "x", "x", "enter"), "nvidia5"),
        (("x", "3"), "nvidia3"),
    ],
)
def test_enter_on_a_node_puts_the_cursor_on_what_is_wrong(keys: tuple[str, ...], name: str) -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press(*keys)
        stage.app.pull()
        await stage.pilot.pause()
        assert stage.fed.opened == ["n002"]
        assert stage.app.board.selected is not None
        assert stage.app.board.selected.device.name == name

    view = fleet_view(faults=FAULTS)
    on(check, source=FedFleet(view, named_as_in_the_fleet(8)))


def test_the_list_shows_a_fault_in_a_filled_cell_two_wide() -> None:
    board = board_for(fleet_view(12, faults=FAULTS))
    rows = {row.node: row for row in board.rows}
    context = context_for(board)
    shown = value_cells.lights_cell(rows["n009"], context, 9)
    assert [text for text, role in shown if role == "alarm"] == ["◌ "]
    assert width_of(shown) == 9
    two = value_cells.lights_cell(rows["n002"], context, 9)
    assert width_of(two) == 9
    assert plain(two).count("✕") == 2
    eight = value_cells.lights_cell(rows["n009"], context, 8)
    assert (width_of(eight), plain(eight).count("◌")) == (8, 1)
    assert roles_of(value_cells.lights_cell(rows["n001"], context, 9)) <= {
        "quiet0",
        "quiet1",
        "quiet2",
    }


def test_the_sentence_of_the_selected_row_is_whole_below_the_table() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("x")
        assert stage.line_with("● up     n002").rstrip().endswith("ada")
        assert "n002/nvidia3 ✕ lost (+1 more) → drain the node and reboot it" in stage.text()
        await stage.press("home")
        assert "n003 ✕ down for 6 min" in stage.text()
        await stage.press("end", "up")
        assert "n011 8 x Intel Gaudi 3 rack=r02 pool=serve 48105 grace" in stage.text()

    on(check, size=(110, 40))


def with_load(view: FleetView, load: float | None) -> FleetView:
    """The fleet with every device at one load."""
    devices = [
        msgspec.structs.replace(
            one, values=(*one.values[:UTILIZATION], load, *one.values[UTILIZATION + 1 :])
        )
        for one in view.devices
    ]
    return msgspec.structs.replace(view, devices=devices)


@pytest.mark.parametrize("width", [1, 2, 9, 22])
def test_a_cell_is_still_while_the_load_moves_little(width: int) -> None:
    view = with_load(fleet_view(1), 0.50)
    context = context_for(board_for(view))

    def cell(load: float | None) -> Line:
        return device_cell(with_load(view, load).devices[0], context, width, live=True)

    first = cell(0.50)
    assert cell(0.54) == cell(0.46) == cell(0.50) == first
    (higher, lower) = cell(0.9), cell(0.1)
    assert first != higher != lower
    assert cell(0.13) == lower
    idle = cell(0.0)
    assert idle == device_cell(with_load(view, 0.0).devices[0], context, width, live=True)
    assert cell(None) != first
    if width >= 9:
        assert "50%" in plain(first)
        assert "0%" in plain(idle)


def test_a_temperature_is_still_for_less_than_three_degrees() -> None:
    steady = SteadyValues()
    readings = (60.0, 62.9, 57.1, 63.0, 61.0)
    shown = [steady.of(1, "temperature", value, 0.0) for value in readings]
    assert shown == [60.0, 60.0, 60.0, 63.0, 63.0]
    assert steady.of(2, "temperature", 61.0, 0.0) == 61.0
    assert steady.of(1, "load", 0.2, 0.0) == 0.2
    assert steady.of(1, "temperature", None, 0.0) is None
    assert steady.of(1, "temperature", 61.0, 0.0) == 61.0


def test_a_load_that_goes_up_and_down_around_its_mean_is_still() -> None:
    steady = SteadyValues()
    loads = [0.85 + 0.05 * math.sin(second * 2 * math.pi / 16) for second in range(300)]
    shown = [steady.of(1, "load", load, float(second)) for second, load in enumerate(loads)]
    assert len(set(shown)) == 1


def test_a_load_that_has_become_another_is_shown() -> None:
    steady = SteadyValues()
    assert steady.of(1, "load", 0.5, 0.0) == 0.5
    shown = [steady.of(1, "load", 0.62, float(second)) for second in range(1, 61)]
    assert shown[0] == 0.5
    assert shown[-1] == pytest.approx(0.62, abs=0.05)
    assert steady.of(1, "load", 0.9, 61.0) == 0.9, "a jump"
    assert steady.of(1, "load", 0.0, 62.0) == 0.0, "idle"
