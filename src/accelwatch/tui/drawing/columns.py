"""Columns of a table on a terminal: which fit a width, how wide each is, their heading. Pure."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import msgspec

from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, fit

GAP = 2
# Cells of a bar with its number.
BARRED = 10

Cell = TypeVar("Cell")


class Column(msgspec.Struct, Generic[Cell], frozen=True, kw_only=True):
    """One column: `rank` is how early it gives way (1 stays), `grow` its share of what is left."""

    title: str
    cell: Cell
    width: int
    id: str = ""
    rank: int = 1
    grow: int = 0
    # It grows no wider than this; 0: no limit.
    most: int = 0
    # Where its title stands.
    right: bool = False
    # What a click on its heading sorts by.
    sort: str = ""


AnyColumn = TypeVar("AnyColumn", bound=Column)  # type: ignore[type-arg]  # whatever its cells are
# Columns and their widths.
SizedColumns = Sequence[tuple[AnyColumn, int]]


def needed(columns: Sequence[AnyColumn]) -> int:
    """Cells that columns need at least, with the gaps between them."""
    return sum(column.width + GAP for column in columns) - GAP


def fitting(
    columns: Sequence[AnyColumn], width: int, sign: AnyColumn | None = None
) -> list[AnyColumn]:
    """The columns that fit, those of the highest rank given up first; rank 1 stays in any case.

    `sign` stands first instead of the column of the same id where that has given way.
    """
    chosen = list(columns)
    for most in sorted({column.rank for column in columns}, reverse=True):
        chosen = [column for column in columns if column.rank <= most]
        if sign is not None and all(column.id != sign.id for column in chosen):
            chosen = [sign, *chosen]
        if needed(chosen) <= width:
            break
    return chosen


def shared(columns: Sequence[AnyColumn], extra: int) -> list[int]:
    """Widths when each column gets its share of the cells that are left, rounded down."""
    shares = sum(column.grow for column in columns) or 1
    return [column.width + extra * column.grow // shares for column in columns]


def filled(columns: Sequence[AnyColumn], extra: int) -> list[int]:
    """Widths when what is left goes to those that grow, cell by cell, until none wants more.

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
        for index in wanting:
            if extra > 0 and (not columns[index].most or widths[index] < columns[index].most):
                widths[index] += 1
                extra -= 1
    return widths


def _title_of(column: AnyColumn) -> str:
    return column.title


def heading(
    columns: "SizedColumns[AnyColumn]",
    width: int,
    glyphs: Glyphs,
    *,
    sort: str = "",
    descending: bool = True,
    title_of: Callable[[AnyColumn], str] = _title_of,
) -> Line:
    """The titles of the columns, the first one that is sorted by marked."""
    line: Line = [(" ", "head")]
    has_arrow = False
    for column, size in columns:
        here = bool(sort) and column.sort == sort and bool(column.title) and not has_arrow
        has_arrow = has_arrow or here
        arrow = (glyphs.down if descending else glyphs.up) if here else ""
        title = title_of(column)
        text = f"{title[: size - len(arrow)]}{arrow}" if arrow else title
        line += [
            (fit(text, size, right=column.right), "sorted" if here else "head"),
            (" " * GAP, "head"),
        ]
    return clipped(line, width)


def at(columns: "SizedColumns[AnyColumn]", x: int) -> AnyColumn | None:
    """The column under a cell of the heading; None beyond the last."""
    left = 1
    for column, size in columns:
        left += size + GAP
        if x < left:
            return column
    return None
