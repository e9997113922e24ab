"""The devices of the board as rows of a list, one line or a block each."""

from collections.abc import Hashable

from accelwatch.tui.drawing.lines import Line, fit
from accelwatch.tui.local.devices.rows import block, heading, row
from accelwatch.tui.state.board import Board
from accelwatch.tui.views.device_lack import why_none
from accelwatch.tui.views.graphs.sparkline import sparkline

# Cells from which a row ends with what its device did in the last five minutes.
SPARK_FROM = 170
# Cells of that: columns of six seconds.
SPARK = 25
_SPARK_TITLE = "LAST 5 MIN"
# Three and a blank one.
BLOCK_LINES = 4


def row_width(width: int) -> int:
    """Cells of the columns; the rest of a wide row is history."""
    return width - SPARK - 1 if width >= SPARK_FROM else width


class DeviceList:
    """The board's devices; `full` makes blocks of them."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self.full = False

    @property
    def stride(self) -> int:
        """Lines of a device."""
        return BLOCK_LINES if self.full else 1

    def __len__(self) -> int:
        return len(self._board.devices)

    def heading(self, width: int) -> Line | None:
        """Titles of the columns, for rows of one line."""
        if self.full or not len(self):
            return None
        board = self._board
        titles = heading(
            row_width(width),
            board.paint.glyphs,
            owned=board.owned,
            sort=board.device_sort,
            descending=board.device_descending,
        )
        if row_width(width) < width:
            titles.append((fit(_SPARK_TITLE, width - row_width(width)), "head"))
        return titles

    def bare(self, width: int) -> list[Line]:
        """Why there is no device."""
        return why_none(self._board, width)

    def line(self, index: int, width: int, line_index: int, /) -> Line:
        """One line of a device."""
        board = self._board
        view = board.devices[index]
        glyphs = board.paint.glyphs
        if not self.full:
            line = row(view, board.snapshot, row_width(width), glyphs, owned=board.owned)
            if row_width(width) < width:
                line += [sparkline(board, view, SPARK), (" ", "text")]
            return line
        lines = block(view, board.snapshot, width, glyphs)
        return lines[line_index] if line_index < len(lines) else []

    def key(self, index: int) -> Hashable:
        """The device's id."""
        return self._board.devices[index].device.id

    def position_of(self, key: Hashable) -> int | None:
        """Where a device is."""
        return self._board.position_of(str(key))
