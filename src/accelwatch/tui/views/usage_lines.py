"""Who uses the devices, as lines of the dashboard. Pure."""

from accelwatch.tui.drawing.lines import Line, clipped
from accelwatch.usage.cells import NUMBERS, cells, header, remarks, summary
from accelwatch.usage.report import UsageReport
from accelwatch.usage.shares import Kind

_GAP = "  "
_QUIET = frozenset({Kind.FREE, Kind.UNKNOWN, Kind.OTHERS})


def lines(
    report: UsageReport | None, problem: str, width: int, *, ages: bool, ascii_only: bool
) -> list[Line]:
    """The table under its heading, the total last, and what was counted; `problem` instead, if any."""
    if report is None:
        return [clipped([(f" {problem or 'asking ...'}", "warn" if problem else "dim")], width)]
    titles = header(report, ages=ages)
    rows = [*report.rows, *([report.total] if report.total is not None else [])]
    shown = [cells(row, report, ages=ages, ascii_only=ascii_only) for row in rows]
    sizes = [max(map(len, column)) for column in zip(titles, *shown, strict=True)]
    given = [_line(titles, titles, sizes, "head", width)]
    for row, texts in zip(rows, shown, strict=True):
        role = "strong" if row is report.total else "dim" if row.kind in _QUIET else "text"
        given.append(_line(titles, texts, sizes, role, width))
    said = [*([problem] if problem else []), summary(report), *remarks(report)]
    return [*given, [], *(clipped([(f" {text}", "dim")], width) for text in said)]


def _line(titles: list[str], texts: list[str], sizes: list[int], role: str, width: int) -> Line:
    padded = (
        text.rjust(size) if title in NUMBERS else text.ljust(size)
        for title, text, size in zip(titles, texts, sizes, strict=True)
    )
    return clipped([(f" {_GAP.join(padded)}", role)], width)
