"""What the terminal shows already is not sent again: of each painting only the cells that differ.

Textual sends each line of a widget from its first cell to the last one that is dirty, every span with
its colours in full. Here what it composed is compared with what was sent before it.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain

from rich.cells import get_character_cell_size
from rich.color import ColorSystem
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.strip import Strip

Cell = tuple[str, Style | None]
Chops = Mapping[int, Strip | None]
"""Parts of one line by their first column."""
_NEAR = 6
"""Equal cells between two changed ones that are sent with them: a jump takes as many bytes."""
_RESET = "\x1b[0m"
_MARK = "x"


class Changes(CompositorUpdate):
    """What is sent in place of an update."""

    def __init__(self, cells: "TerminalCells", lines: Iterable[tuple[int, Chops]]) -> None:
        self._cells = cells
        self._lines = lines

    def render_segments(self, console: Console) -> str:
        """The characters and escape sequences for the terminal."""
        system = console._color_system or ColorSystem.TRUECOLOR
        return "".join(chain.from_iterable(self._cells.sent(self._lines, system)))


class TerminalCells:
    """What was sent last, by line and column; `forget` when the terminal may show something else."""

    def __init__(self) -> None:
        self._lines: dict[int, dict[int, Strip | None]] = {}
        self._size = (0, 0)

    def forget(self) -> None:
        """Send everything the next time that it is painted."""
        self._lines.clear()

    def changes(self, update: RenderableType | None) -> RenderableType | None:
        """What is to be displayed in place of what Textual has composed."""
        if isinstance(update, LayoutUpdate):
            if self._size != update.region.size:
                self._size = update.region.size
                self.forget()
            first = update.region.y
            return Changes(
                self, [(first + n, _placed(line)) for n, line in enumerate(update.strips)]
            )
        if isinstance(update, ChopsUpdate):
            lines = dict.fromkeys(y for y, _, _ in update.spans)
            return Changes(self, [(y, update.chops[y]) for y in lines])
        return update

    def sent(
        self, lines: Iterable[tuple[int, Chops]], system: ColorSystem
    ) -> Iterator[Iterable[str]]:
        """The sequences that bring the terminal to these lines; it is taken to show them from now on."""
        for y, chops in lines:
            known = self._lines.get(y)
            if known is None or known.keys() != chops.keys():
                # Other widgets lie here now: none of the parts is where it was.
                known = self._lines[y] = dict.fromkeys(chops)
            for x, strip in chops.items():
                if strip is not None:
                    before, known[x] = known[x], strip
                    yield _differing(before, strip, y, x, system)


def _placed(line: Iterable[Strip]) -> dict[int, Strip]:
    """The strips of a line by column."""
    given, x = {}, 0
    for strip in line:
        given[x] = strip
        x += strip.cell_length
    return given


def _differing(
    before: Strip | None, strip: Strip, y: int, x: int, system: ColorSystem
) -> Iterator[str]:
    """The sequences for the cells of a strip that differ from those before."""
    old, new = ([] if before is None else before._segments), strip._segments
    if old == new:
        return
    old_cells, new_cells = _cells(old), _cells(new)
    if old_cells is None or new_cells is None or len(old_cells) != len(new_cells):
        yield f"\x1b[{y + 1};{x + 1}H"
        yield from _painted([(text, style) for text, style, _ in new], system)
        return
    for start, end in _runs(old_cells, new_cells):
        yield f"\x1b[{y + 1};{x + start + 1}H"
        yield from _painted(new_cells[start:end], system)


def _cells(segments: Iterable[Segment]) -> list[Cell] | None:
    """A character and a style for each cell; None where a character takes another room than one."""
    given: list[Cell] = []
    for text, style, _ in segments:
        if not text.isascii() and any(get_character_cell_size(sign) != 1 for sign in set(text)):
            return None
        given += [(sign, style) for sign in text]
    return given


def _runs(old: list[Cell], new: list[Cell]) -> Iterator[tuple[int, int]]:
    """Stretches of cells that differ; those near each other as one."""
    start = end = -1
    for place, pair in enumerate(zip(old, new, strict=True)):
        if pair[0] == pair[1]:
            continue
        if start >= 0 and place - end > _NEAR:
            yield start, end
            start = place
        elif start < 0:
            start = place
        end = place + 1
    if start >= 0:
        yield start, end


def _painted(cells: Iterable[Cell], system: ColorSystem) -> Iterator[str]:
    """Texts with what sets their colours before them; colours are set once for neighbours."""
    last: Style | None = None
    coloured = False
    for text, style in cells:
        if style is not last and style != last:
            if coloured:
                yield _RESET
            beginning = _beginning(style, system) if style is not None else ""
            coloured = bool(beginning)
            yield beginning
        last = style
        yield text
    if coloured:
        yield _RESET


@lru_cache(maxsize=512)
def _beginning(style: Style, system: ColorSystem) -> str:
    """The sequence that begins a style."""
    return style.render(_MARK, color_system=system).partition(_MARK)[0]
