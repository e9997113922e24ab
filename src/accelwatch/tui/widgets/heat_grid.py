"""Many devices at a glance: a cell each with sign, number and load; the selected one in a row below."""

from collections.abc import Iterable

from textual import events
from textual.message import Message
from textual.strip import Strip

from accelwatch.schema.snapshot import DeviceView
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.lines import Line, fit
from accelwatch.tui.local.devices.cells import utilization
from accelwatch.tui.local.devices.rows import heading, row
from accelwatch.tui.state.board import Board
from accelwatch.tui.views.graphs.sparkline import sparkline
from accelwatch.tui.widgets.painted import Painted

_BLOCKS = " ▁▂▃▄▅▆▇█"
_BLOCKS_ASCII = " .:-=+*#@"
# Cells of history in a roomy cell: columns of ten seconds.
_SPARK = 15
# Cells of a cell beside its label, with the gap behind it.
_TERSE, _ROOMY = 10, 11 + _SPARK
# Lines of the selected device's row with its heading and a blank.
_BELOW = 3


def cell(view: DeviceView, label_width: int, board: Board, *, roomy: bool = False) -> Line:
    """`12 ▇ 97%`; a device in trouble shows its sign and state instead of a load.

    Where there is room it has its whole name, and ends with what it did in the last five minutes.
    """
    glyphs = board.paint.glyphs
    label = fit(_label(view, roomy=roomy), label_width, right=not roomy)
    history: Line = [(" ", "text"), sparkline(board, view, _SPARK)] if roomy else []
    if not fmt.readable(view):
        text = fit(f"{fmt.state_glyph(view, glyphs)} {fmt.status_text(view)}", 6)
        return [(f"{label} ", "dim"), (text, fmt.state_role(view)), *history]
    busy = utilization(view)
    blocks = _BLOCKS_ASCII if glyphs.ascii_only else _BLOCKS
    level = blocks[min(round((busy or 0.0) * 8), 8)]
    sign = " " if fmt.state_role(view) == "calm" else fmt.state_glyph(view, glyphs)
    return [
        (f"{label}", "text"),
        (sign, fmt.state_role(view)),
        (level * 2, fmt.level_role(busy)),
        (fit(fmt.percent(busy), 4, right=True), "text" if busy else "faint"),
        *history,
    ]


def _label(view: DeviceView, *, roomy: bool = False) -> str:
    name = view.device.name
    return name if roomy else name.removeprefix(view.device.vendor)


class HeatGrid(Painted):
    """A cell a device, as many in a line as fit."""

    can_focus = True

    class Moved(Message):
        """Another device is selected."""

    class Chosen(Message):
        """A second click on the selected device."""

    def __init__(self, board: Board) -> None:
        super().__init__(id="grid")
        self.board = board
        self.top = 0

    @property
    def _roomy(self) -> bool:
        """Whether cells with names and history leave most of the terminal to the rest."""
        width, height = self.app.size
        columns = max((width - 1) // (self._longest(roomy=True) + _ROOMY), 1)
        return -(-len(self.board.devices) // columns) <= height // 4

    def _longest(self, *, roomy: bool) -> int:
        views = self.board.devices[-64:]
        return max((len(_label(view, roomy=roomy)) for view in views), default=2)

    @property
    def _label_width(self) -> int:
        return self._longest(roomy=self._roomy)

    @property
    def cell_width(self) -> int:
        """With the gap between cells."""
        return self._label_width + (_ROOMY if self._roomy else _TERSE)

    @property
    def columns(self) -> int:
        """Cells in a line."""
        return max((self.size.width - 1) // self.cell_width, 1)

    @property
    def _cursor(self) -> int:
        return self.board.position_of(self.board.selected_id) or 0

    def lines_needed(self, width: int) -> int:
        """Height that shows all of it."""
        columns = max((width - 1) // self.cell_width, 1)
        return -(-len(self.board.devices) // columns) + _BELOW

    def move(self, step: int) -> bool:
        """Select the device `step` cells on; false when that is beyond the end."""
        target = self._cursor + step
        inside = 0 <= target < len(self.board.devices)
        if inside:
            self.board.select_next(step)
            self._follow(target)
            self.refresh()
            self.post_message(self.Moved())
        return inside

    def _follow(self, index: int) -> None:
        line, visible = index // self.columns, max(self.size.height - _BELOW, 1)
        self.top = min(max(self.top, line - visible + 1), line)

    def draw(self, lines: Iterable[int]) -> list[Strip]:
        """The lines of cells, and the selected one's row below them."""
        width, height = self.size
        cursor = self._cursor
        return [self._strip(y, width, height, cursor) for y in lines]

    def _strip(self, y: int, width: int, height: int, cursor: int) -> Strip:
        board, paint = self.board, self.board.paint
        below = height - y
        if below <= 2 and board.selected is not None:
            if below == 2:
                return paint.strip(heading(width, board.paint.glyphs, owned=board.owned), width)
            line = row(board.selected, board.snapshot, width, paint.glyphs, owned=board.owned)
            return paint.strip(line, width, "selected" if self.has_focus else "cursor")
        if below <= _BELOW:
            return paint.strip([], width)
        first = (self.top + y) * self.columns
        strips = [paint.strip([(" ", "text")], 1)]
        used = 1
        roomy, label_width = self._roomy, self._label_width
        for index in range(first, min(first + self.columns, len(board.devices))):
            spans = cell(board.devices[index], label_width, board, roomy=roomy)
            overlay = ("selected" if self.has_focus else "cursor") if index == cursor else ""
            strips.append(paint.strip(spans, self.cell_width - 2, overlay))
            strips.append(paint.strip([], 2))
            used += self.cell_width
        if used < width:
            strips.append(paint.strip([], width - used))
        return Strip.join(strips).crop(0, width)

    def on_focus(self) -> None:
        """The selected cell looks different with the keys."""
        self.refresh()

    def on_blur(self) -> None:
        """The selected cell looks different without the keys."""
        self.refresh()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Move on by a line."""
        event.stop()
        self.move(self.columns)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Move back by a line."""
        event.stop()
        self.move(-self.columns)

    def on_click(self, event: events.Click) -> None:
        """Select the cell under the pointer; choose it when it is selected already."""
        event.stop()
        index = (self.top + event.y) * self.columns + (event.x - 1) // self.cell_width
        if event.y >= self.size.height - _BELOW or not 0 <= index < len(self.board.devices):
            return
        if index == self._cursor:
            self.post_message(self.Chosen())
        else:
            self.move(index - self._cursor)
