"""The devices of the board as rows of a list, one line or a block each."""

from collections.abc import Hashable

from accelwatch.tui.drawing.lines import Line
from accelwatch.tui.local.device_rows import block, heading, row
from accelwatch.tui.state.board import Board
from accelwatch.tui.views.device_lack import why_none

BLOCK_LINES = 4
"""Three and a blank one."""


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
        return heading(
            width,
            board.paint.glyphs,
            owned=board.owned,
            sort=board.device_sort,
            descending=board.device_descending,
        )

    def bare(self, width: int) -> list[Line]:
        """Why there is no device."""
        return why_none(self._board, width)

    def line(self, index: int, width: int, part: int, /) -> Line:
        """One line of a device."""
        board = self._board
        view = board.devices[index]
        glyphs = board.paint.glyphs
        if not self.full:
            return row(view, board.snapshot, width, glyphs, owned=board.owned)
        lines = block(view, board.snapshot, width, glyphs)
        return lines[part] if part < len(lines) else []

    def key(self, index: int) -> Hashable:
        """The device's id."""
        return self._board.devices[index].device.id

    def place(self, key: Hashable) -> int | None:
        """Where a device is."""
        return self._board.place(str(key))
