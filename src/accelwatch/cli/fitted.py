"""A table in the width of a terminal: columns give way in an order, remarks move below their rows.

Where the width is not bounded, as on a pipe, a row is one line with its remark at the end.
"""

import textwrap
from collections.abc import Collection, Sequence

from accelwatch.cli.table_lines import Cells, Style, aligned

_GAP = 2
_INDENT = "  "
# Cells below which a cut text says nothing.
_LEAST_TEXT = 8


def fitted(
    header: Cells,
    rows: Sequence[Cells],
    style: Style,
    codes: Sequence[str],
    *,
    remarks: Sequence[str] = (),
    shortened: str = "",
    dropped: Collection[str] = (),
) -> list[str]:
    """Lines of at most `style.width` cells.

    The column `shortened` is cut before those of `dropped` are left out one after another.
    """
    header, cells = list(header), [list(row) for row in rows]
    if style.width is not None:
        _shorten(header, cells, shortened, style)
        for title in dropped:
            if _width(header, cells) <= style.width:
                break
            column = header.index(title)
            for row in (header, *cells):
                del row[column]
    plain = aligned(header, cells, Style(), [""] * len(cells))
    lines = [style.paint(plain[0], "1")]
    notes = remarks or [""] * len(cells)
    for line, remark, code in zip(plain[1:], notes, codes, strict=True):
        lines += [style.paint(piece, code) for piece in _remarked(line, remark, style.width)]
    return lines


def _width(header: Cells, rows: Sequence[Cells]) -> int:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return sum(widths) + _GAP * (len(widths) - 1)


def _shorten(header: Cells, rows: Sequence[Cells], title: str, style: Style) -> None:
    """Cut the texts of a column by what is too much, but not beyond sense."""
    assert style.width is not None
    over = _width(header, rows) - style.width
    if over <= 0 or title not in header:
        return
    column = header.index(title)
    longest = max(len(row[column]) for row in [header, *rows])
    room = max(longest - over, _LEAST_TEXT)
    ellipsis = "~" if style.ascii_only else "…"
    for row in rows:
        if len(row[column]) > room:
            row[column] = row[column][: room - 1] + ellipsis


def _remarked(line: str, remark: str, width: int | None) -> list[str]:
    """The row with its remark, which goes on lines of its own where it does not fit."""
    if not remark:
        return [line]
    joined = f"{line}{' ' * _GAP}{remark}"
    if width is None or len(joined) <= width:
        return [joined]
    wrapped = textwrap.wrap(
        remark, width, initial_indent=_INDENT, subsequent_indent=_INDENT, break_long_words=True
    )
    return [line, *wrapped]
