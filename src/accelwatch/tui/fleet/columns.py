"""The columns of the fleet: which of them fit a width, headings, a row as one line. Pure."""

from collections.abc import Callable
from functools import lru_cache

import msgspec

from accelwatch.fleet.picture.grouping import NONE
from accelwatch.fleet.picture.tally import FleetRow
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, fit
from accelwatch.tui.drawing.preferences import Preferences
from accelwatch.tui.fleet import cells
from accelwatch.tui.fleet.cells import Sight

Cell = Callable[[FleetRow, Sight, int], Line]
GAP = 2
BARRED = 10
"""Cells of a bar with its number."""
LIGHTS = 8
"""Cells for a node's devices."""
NAME, MOST_NAME = 8, 24
"""Cells for a node's name: at least, at most."""


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column: `rank` tells how early it gives way (1 stays), `grow` its share of what is left."""

    id: str
    title: str
    width: int
    cell: Cell
    rank: int = 1
    grow: int = 0
    most: int = 0
    """It grows no wider than this; 0: no limit."""
    right: bool = False
    sort: str = ""
    """What a click on its heading sorts by."""


COLUMNS = (
    Column(id="state", title="STATE", width=7, cell=cells.state_cell, rank=3, sort="worst"),
    Column(id="node", title="NODE", width=NAME, cell=cells.name_cell, sort="node"),
    Column(id="age", title="AGE", width=6, cell=cells.age_cell, rank=3, right=True, sort="age"),
    Column(id="lights", title="DEVICES", width=LIGHTS, cell=cells.lights_cell, rank=7),
    Column(id="count", title="OK/ALL", width=7, cell=cells.count_cell, right=True, sort="devices"),
    Column(
        id="load",
        title="LOAD",
        width=4,
        cell=cells.load_cell,
        rank=2,
        grow=3,
        most=BARRED,
        right=True,
        sort="load",
    ),
    Column(
        id="memory",
        title="MEM",
        width=4,
        cell=cells.memory_cell,
        rank=4,
        grow=3,
        most=BARRED,
        right=True,
        sort="memory",
    ),
    Column(
        id="power",
        title="POWER",
        width=7,
        cell=cells.power_cell,
        rank=5,
        right=True,
        sort="power",
    ),
    Column(
        id="heat",
        title="TEMP",
        width=5,
        cell=cells.heat_cell,
        rank=6,
        right=True,
        sort="temperature",
    ),
    Column(
        id="worst", title="WORST", width=18, cell=cells.worst_cell, grow=1, most=26, sort="worst"
    ),
    Column(id="work", title="WORK", width=14, cell=cells.work_cell, rank=8, grow=1),
    Column(id="labels", title="LABELS", width=14, cell=cells.labels_cell, rank=9, grow=1),
)
_SIGN = Column(id="state", title="", width=1, cell=cells.state_cell, sort="worst")


@lru_cache(maxsize=64)
def layout(width: int, name: int) -> tuple[tuple[Column, int], ...]:
    """The columns that fit, with the width of each; `name` is how long names are."""
    more = min(max(name - NAME, 0), MOST_NAME - NAME, max(width - 60, 0) // 3)
    left = width - 1 - more
    for most in range(9, 0, -1):
        chosen = [column for column in COLUMNS if column.rank <= most]
        if most < 3:
            chosen = [_SIGN, *chosen]
        needed = sum(column.width + GAP for column in chosen) - GAP
        if needed <= left:
            break
    widths = _widths(chosen, max(left - needed, 0))
    sizes = [
        size + more if column.id == "node" else size
        for column, size in zip(chosen, widths, strict=True)
    ]
    return tuple(zip(chosen, sizes, strict=True))


def _widths(columns: list[Column], extra: int) -> list[int]:
    """What is left goes to those that grow, cell by cell, until none wants more.

    Columns with bars grow only where there is room for the bars.
    """
    widths = [column.width for column in columns]
    bars = extra >= sum(column.most - column.width for column in columns if column.most == BARRED)
    growing = [
        n
        for n, column in enumerate(columns)
        for _ in range(column.grow)
        if bars or column.most != BARRED
    ]
    while extra > 0:
        wanting = [n for n in growing if not columns[n].most or widths[n] < columns[n].most]
        if not wanting:
            break
        for place in wanting:
            if extra > 0 and (not columns[place].most or widths[place] < columns[place].most):
                widths[place] += 1
                extra -= 1
    return widths


def heading(width: int, name: int, preferences: Preferences, glyphs: Glyphs) -> Line:
    """The titles, the sorted one marked."""
    sort, descending = preferences.fleet_sort, preferences.fleet_descending
    line: Line = [(" ", "head")]
    marked = False
    for column, size in layout(width, name):
        here = column.sort == sort and not marked and bool(column.title)
        marked = marked or here
        arrow = (glyphs.down if descending else glyphs.up) if here else ""
        title = _title(column, preferences.fleet_group)
        title = fit(f"{title}{arrow}", size, right=column.right)
        line += [(title, "sorted" if here else "head"), (" " * GAP, "head")]
    return clipped(line, width)


def _title(column: Column, group: str) -> str:
    """With groups, the first name of a row is theirs, and their lights are nodes."""
    if group == NONE:
        return column.title
    return {"node": group.upper(), "lights": "LIGHTS"}.get(column.id, column.title)


def sort_at(width: int, name: int, x: int) -> str:
    """What a click on a cell of the heading sorts by; empty for nothing."""
    left = 1
    for column, size in layout(width, name):
        left += size + GAP
        if x < left:
            return column.sort
    return ""


def row_line(row: FleetRow, sight: Sight, width: int) -> Line:
    """One row."""
    line: Line = [(" ", "text")]
    for column, size in layout(width, sight.board.name_width):
        line += [*column.cell(row, sight, size), (" " * GAP, "text")]
    return clipped(line, width)
