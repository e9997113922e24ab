"""Who uses the devices, as lines of the dashboard. Pure."""

from accelwatch.node.usage.cells import NUMBERS, cells, header, remarks, summary
from accelwatch.node.usage.report import UsageReport
from accelwatch.node.usage.shares import Kind
from accelwatch.tui.drawing import columns
from accelwatch.tui.drawing.columns import GAP, Column, filled, fitting, needed
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, cell_len, clipped, fit, paragraph

_DIMMED = frozenset({Kind.FREE, Kind.UNKNOWN, Kind.OTHERS})
# Cells of a name at least; a longer one gets what is left.
_NAME = 12
# How early a column gives way; the first one stays.
_RANKS = {
    "HELD": 1,
    "USER": 2,
    "LOAD": 3,
    "ENERGY": 4,
    "COST": 5,
    "IDLE": 6,
    "COUNTED SINCE": 7,
    "MEMORY": 8,
    "NO DATA": 9,
    "DEVICES": 10,
    "PEAK": 11,
    "BEGAN": 12,
}


def lines(
    report: UsageReport | None, problem: str, width: int, glyphs: Glyphs, *, ages: bool
) -> list[Line]:
    """The table under its heading, the total last, and what was counted; `problem` instead, if any."""
    if report is None:
        role = "warn" if problem else "dim"
        return paragraph(" ", problem or "asking ...", role, width, glyphs)
    titles = header(report, ages=ages)
    rows = [*report.rows, *([report.total] if report.total is not None else [])]
    shown = [cells(row, report, ages=ages, ascii_only=glyphs.ascii_only) for row in rows]
    all_columns = [_column(index, title, shown) for index, title in enumerate(titles)]
    chosen = fitting(all_columns, width - 1)
    sized_columns = list(zip(chosen, filled(chosen, width - 1 - needed(chosen)), strict=True))
    table = [columns.heading(sized_columns, width, glyphs)]
    for row, texts in zip(rows, shown, strict=True):
        role = "strong" if row is report.total else "dim" if row.kind in _DIMMED else "text"
        line: Line = [(" ", role)]
        for column, size in sized_columns:
            text = fit(texts[column.cell], size, right=column.right, ellipsis=glyphs.ellipsis)
            line += [(text, role), (" " * GAP, role)]
        table.append(clipped(line, width))
    notes = [
        *([problem] if problem else []),
        summary(report),
        *remarks(report, ascii_only=glyphs.ascii_only),
    ]
    return [
        *table,
        [],
        *(row for text in notes for row in paragraph(" ", text, "dim", width, glyphs)),
    ]


def _column(index: int, title: str, rows: list[list[str]]) -> Column[int]:
    """The column of the cells at an index, as wide as these; of names it may be less."""
    most = max(map(cell_len, [title, *(row[index] for row in rows)]))
    named = title in ("JOB", "USER")
    return Column(
        title=title,
        cell=index,
        width=min(most, _NAME) if named else most,
        rank=1 if not index else _RANKS[title],
        grow=int(named),
        most=most if named else 0,
        right=title in NUMBERS,
    )
