"""What the terminal shows already is not sent again: of each painting only the cells that differ.

Textual sends each line of a widget from its first cell to the last one that is dirty, every span with
its colours in full. Here what it composed is compared with what was sent before it.
"""

from collections.abc import Iterable, Iterator

from rich.cells import get_character_cell_size
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from accelwatch.tui.drawing.pen import Pen
from accelwatch.tui.terminal.textual_private import Chops, TerminalUpdate, composed

# A character, or a text of more than one cell, and its style.
Cell = tuple[str, Style | None]
# Line, column, and what is written from there on.
Run = tuple[int, int, list[Cell]]
# By Rich's names of them.
_COLOR_SYSTEMS = {
    "standard": ColorSystem.STANDARD,
    "256": ColorSystem.EIGHT_BIT,
    "truecolor": ColorSystem.TRUECOLOR,
    "windows": ColorSystem.WINDOWS,
}
# Equal cells between two changed ones that are sent with them: a jump costs as many bytes.
_NEAR = 6


class Changes(TerminalUpdate):
    """Cells that are sent instead of an update; false where there are none."""

    def __init__(self, cells: Iterable[Run], width: int) -> None:
        """`width`: columns of the terminal."""
        self._cells = list(cells)
        self._width = width

    def __bool__(self) -> bool:
        return bool(self._cells)

    def render_segments(self, console: Console) -> str:
        """The characters and escape sequences for the terminal."""
        colours = _COLOR_SYSTEMS.get(console.color_system or "", ColorSystem.TRUECOLOR)
        pen = Pen(colours, self._width)
        for y, x, cells in _by_colour(self._cells):
            pen.move(y, x)
            for text, style in cells:
                pen.write(text, style)
        return pen.finished()


class TerminalCells:
    """What was sent last, by line and column; `forget` when the terminal may show something else."""

    def __init__(self) -> None:
        self._lines: dict[int, dict[int, Strip | None]] = {}
        self._size = (0, 0)

    def forget(self) -> None:
        """Send everything the next time that it is painted."""
        self._lines.clear()

    def changes(self, update: object) -> object:
        """What to display instead of what Textual has composed; None: nothing."""
        picture = composed(update)
        if picture is None:
            return update
        if picture.size is not None and picture.size != self._size:
            self._size = picture.size
            self.forget()
        changes = Changes(self._sent(picture.lines), self._size[0])
        return changes or None

    def _sent(self, lines: Iterable[tuple[int, Chops]]) -> Iterator[Run]:
        """What brings the terminal to these lines, which it shows then."""
        for y, chops in lines:
            cached = self._lines.get(y)
            if cached is None or cached.keys() != chops.keys():
                # Other widgets lie here now: none of the parts is where it was.
                cached = self._lines[y] = dict.fromkeys(chops)
            for x, strip in chops.items():
                if strip is not None:
                    before, cached[x] = cached[x], strip
                    for start, cells in _differing(before, strip):
                        yield y, x + start, cells


def _by_colour(runs: list[Run]) -> list[Run]:
    """Those that begin in one style together, columns downwards: as a graph moves, cells below each
    other change, and neither a colour nor a position has to be sent for each of them."""
    orders: dict[Style | None, int] = {}

    def order(run: Run) -> tuple[int, int, int]:
        y, x, cells = run
        style = cells[0][1] if cells else None
        return orders.setdefault(style, len(orders)), x, y

    return sorted(runs, key=order)


def _differing(before: Strip | None, strip: Strip) -> Iterator[tuple[int, list[Cell]]]:
    """Where a strip differs from the one before, and what is to be written there."""
    old, new = ([] if before is None else list(before)), list(strip)
    if old == new:
        return
    old_cells, new_cells = _cells(old), _cells(new)
    if old_cells is None or new_cells is None or len(old_cells) != len(new_cells):
        yield 0, [(text, style) for text, style, _ in new]
        return
    for start, end in _runs(old_cells, new_cells):
        yield start, new_cells[start:end]


def _cells(segments: Iterable[Segment]) -> list[Cell] | None:
    """A character and a style for each cell; None where a character is not one cell wide."""
    cells: list[Cell] = []
    for text, style, _ in segments:
        if not text.isascii() and any(get_character_cell_size(sign) != 1 for sign in set(text)):
            return None
        cells += [(sign, style) for sign in text]
    return cells


def _runs(old: list[Cell], new: list[Cell]) -> Iterator[tuple[int, int]]:
    """Stretches of cells that differ; those near each other as one."""
    start = end = -1
    for index, pair in enumerate(zip(old, new, strict=True)):
        if pair[0] == pair[1]:
            continue
        if start >= 0 and index - end > _NEAR:
            yield start, end
            start = index
        elif start < 0:
            start = index
        end = index + 1
    if start >= 0:
        yield start, end
