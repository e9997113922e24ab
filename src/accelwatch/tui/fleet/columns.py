"""The columns of the fleet: which of them fit a width, headings, a row as one line. Pure."""

from collections.abc import Callable
from functools import lru_cache

from accelwatch.fleet.picture.grouping import NONE
from accelwatch.fleet.picture.tally import FleetRow
from accelwatch.tui.drawing import columns
from accelwatch.tui.drawing.columns import BARRED, GAP, Column, filled, fitting, needed
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped
from accelwatch.tui.fleet.board import FleetBoard
from accelwatch.tui.fleet.cells import value_cells, verdict_cells, work_cells
from accelwatch.tui.fleet.cells.render_context import RenderContext
from accelwatch.tui.theme.preferences import Preferences

Cell = Callable[[FleetRow, RenderContext, int], Line]
# Cells for a node's devices: eight, of which a fault is two wide.
LIGHTS = 9
# Cells for a node's name: at least, at most.
NAME, MOST_NAME = 8, 24


FleetColumn = Column[Cell]

COLUMNS = (
    FleetColumn(
        id="state", title="STATE", width=7, cell=value_cells.state_cell, rank=3, sort="worst"
    ),
    FleetColumn(id="node", title="NODE", width=NAME, cell=value_cells.name_cell, sort="node"),
    FleetColumn(
        id="age", title="AGE", width=6, cell=value_cells.age_cell, rank=3, right=True, sort="age"
    ),
    FleetColumn(id="lights", title="DEVICES", width=LIGHTS, cell=value_cells.lights_cell, rank=7),
    FleetColumn(
        id="count", title="OK/ALL", width=7, cell=value_cells.count_cell, right=True, sort="devices"
    ),
    FleetColumn(
        id="load",
        title="LOAD",
        width=4,
        cell=value_cells.load_cell,
        rank=2,
        grow=3,
        most=BARRED,
        right=True,
        sort="load",
    ),
    FleetColumn(
        id="memory",
        title="MEM",
        width=4,
        cell=value_cells.memory_cell,
        rank=4,
        grow=3,
        most=BARRED,
        right=True,
        sort="memory",
    ),
    FleetColumn(
        id="power",
        title="POWER",
        width=7,
        cell=value_cells.power_cell,
        rank=5,
        right=True,
        sort="power",
    ),
    FleetColumn(
        id="heat",
        title="TEMP",
        width=5,
        cell=value_cells.heat_cell,
        rank=6,
        right=True,
        sort="temperature",
    ),
    FleetColumn(
        id="worst",
        title="WORST",
        width=18,
        cell=verdict_cells.worst_cell,
        grow=4,
        most=80,
        sort="worst",
    ),
    FleetColumn(
        id="finding",
        title="FINDING",
        width=7,
        cell=verdict_cells.finding_cell,
        rank=4,
        grow=1,
        most=24,
        sort="finding",
    ),
    FleetColumn(
        id="odd",
        title="ODD",
        width=7,
        cell=verdict_cells.odd_cell,
        rank=8,
        grow=1,
        most=24,
        sort="odd",
    ),
    FleetColumn(
        id="lemon",
        title="LEMON",
        width=9,
        cell=verdict_cells.lemon_cell,
        rank=8,
        grow=1,
        most=16,
        sort="lemon",
    ),
    FleetColumn(id="work", title="WORK", width=14, cell=work_cells.work_cell, rank=8, grow=1),
    FleetColumn(id="labels", title="LABELS", width=14, cell=work_cells.labels_cell, rank=9, grow=1),
)
_SIGN = FleetColumn(id="state", title="", width=1, cell=value_cells.state_cell, sort="worst")


# Called for every row of a repaint; it changes with the size of the terminal only.
@lru_cache(maxsize=64)
def layout(
    width: int, name: int, *, odd: bool, lemon: bool = False, finding: bool = False
) -> tuple[tuple[FleetColumn, int], ...]:
    """The columns that fit, with the width of each.

    `name` is how long names are, `odd` whether a node differs from the many alike, `lemon` whether one
    has hardware that has failed again and again, `finding` whether the detector suspects one.
    """
    more = min(max(name - NAME, 0), MOST_NAME - NAME, max(width - 60, 0) // 3)
    left = width - 1 - more
    optional = (("odd", odd), ("lemon", lemon), ("finding", finding))
    hidden = {name for name, shown in optional if not shown}
    columns = [column for column in COLUMNS if column.id not in hidden]
    chosen = fitting(columns, left, _SIGN)
    widths = filled(chosen, left - needed(chosen))
    sizes = [
        size + more if column.id == "node" else size
        for column, size in zip(chosen, widths, strict=True)
    ]
    return tuple(zip(chosen, sizes, strict=True))


def layout_of(board: FleetBoard, width: int) -> tuple[tuple[FleetColumn, int], ...]:
    """The columns for what the board shows."""
    return layout(
        width,
        board.name_width,
        odd=board.has_odd,
        lemon=board.has_lemon,
        finding=board.has_finding,
    )


def heading(width: int, board: FleetBoard, preferences: Preferences, glyphs: Glyphs) -> Line:
    """The titles, the sorted one marked."""
    return columns.heading(
        layout_of(board, width),
        width,
        glyphs,
        sort=preferences.fleet_sort,
        descending=preferences.fleet_descending,
        title_of=lambda column: _title(column, preferences.fleet_group),
    )


def _title(column: FleetColumn, group: str) -> str:
    """With groups, the first name of a row is theirs, and their cells are nodes."""
    if group == NONE:
        return column.title
    return {"node": group.upper(), "lights": "NODES"}.get(column.id, column.title)


def sort_at(width: int, board: FleetBoard, x: int) -> str:
    """What a click on a cell of the heading sorts by; empty for nothing."""
    column = columns.at(layout_of(board, width), x)
    return "" if column is None else column.sort


def row_line(row: FleetRow, context: RenderContext, width: int) -> Line:
    """One row."""
    line: Line = [(" ", "text")]
    for column, size in layout_of(context.board, width):
        line += [*column.cell(row, context, size), (" " * GAP, "text")]
    return clipped(line, width)
