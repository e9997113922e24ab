"""Lines of text in roles: what every view is made of before anything is coloured. Pure."""

from collections.abc import Iterable

from rich import cells
from rich.cells import set_cell_size

from accelwatch.schema.display import printable
from accelwatch.tui.drawing.glyphs import Glyphs

# Text and the role it is painted in; the roles are those of `palettes.Palette`.
Span = tuple[str, str]
Line = list[Span]
# Cells that a paragraph has at least, however narrow the terminal is.
_LEAST_TEXT = 12


def cell_len(text: str) -> int:
    """The width of a text in cells; most text is ASCII, one cell a character."""
    return len(text) if text.isascii() else cells.cell_len(text)


def width_of(line: Iterable[Span]) -> int:
    """The width of a line in cells."""
    return sum(cell_len(text) for text, _ in line)


def fit(text: str, width: int, *, right: bool = False, ellipsis: str = "…") -> str:
    """The text in exactly `width` cells: padded, or cut with an ellipsis."""
    if width <= 0:
        return ""
    length = cell_len(text)
    if length > width:
        room = width - len(ellipsis) if width > 1 else width
        return set_cell_size(text, room) + (ellipsis if width > 1 else "")
    gap = " " * (width - length)
    return gap + text if right else text + gap


def clipped(line: Iterable[Span], width: int) -> Line:
    """The line in exactly `width` cells, filled up with blanks."""
    spans: Line = []
    left = width
    for text, role in line:
        length = cell_len(text)
        if length > left:
            spans.append((set_cell_size(text, left), role))
            left = 0
            break
        spans.append((text, role))
        left -= length
    if left > 0:
        spans.append((" " * left, "text"))
    return spans


def spread(left: Line, right: Line, width: int) -> Line:
    """Two lines on one: one at the left edge, the other at the right; the left one gives way."""
    room = width - width_of(right)
    if room <= 0:
        return clipped(right, width)
    return [*clipped(left, room), *right]


def plain(line: Iterable[Span]) -> str:
    """The text alone."""
    return "".join(text for text, _ in line)


def in_role(line: Iterable[Span], role: str) -> Line:
    """The same text, all of it in one role."""
    return [(text, role) for text, _ in line]


def wrapped(text: str, width: int) -> list[str]:
    """Words on as many lines as needed; a longer word is cut."""
    rows: list[str] = []
    row = ""
    for token in text.split():
        joined = f"{row} {token}" if row else token
        if cell_len(joined) <= width:
            row = joined
            continue
        if row:
            rows.append(row)
        row = token if cell_len(token) <= width else set_cell_size(token, width)
    return [*rows, row] if row else rows or [""]


def wrapped_in(text: str, width: int, most: int, ellipsis: str) -> list[str]:
    """Words on `most` lines at most; an ellipsis marks that there are more."""
    rows = wrapped(text, width)
    if len(rows) <= most:
        return rows
    last = " ".join(rows[most - 1 : most + 1])
    return [*rows[: most - 1], fit(last, width, ellipsis=ellipsis)]


def paragraph(head: str, text: str, role: str, width: int, glyphs: Glyphs) -> list[Line]:
    """Text of others on as many lines as it needs, the further ones set in below the first."""
    shown = printable(text, ascii_only=glyphs.ascii_only)
    rows = wrapped(shown, max(width - len(head) - 1, _LEAST_TEXT))
    return [[(head if not n else " " * len(head), role), (row, role)] for n, row in enumerate(rows)]
