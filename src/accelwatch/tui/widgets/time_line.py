"""The time line of a recorded fleet: arrows, Home, End and the pointer go to a moment."""

from collections.abc import Iterable

from textual import events
from textual.strip import Strip

from accelwatch.fleet.picture.timeline import Player, Timeline
from accelwatch.tui.state.board import Board
from accelwatch.tui.views import time_line as drawn
from accelwatch.tui.widgets.painted import Painted

# Parts of the whole that a page is one of.
_PAGE = 10


class TimeLine(Painted):
    """One to three lines: the band, the dates, what was open."""

    can_focus = True

    def __init__(self, board: Board, player: Player) -> None:
        super().__init__(id="timeline")
        self.board = board
        self.player = player
        self._banded: tuple[Timeline, int, bool] | None = None
        self._cells: list[drawn.Cell] = []

    def perform(self, action: str) -> bool:
        """Move along the line; false when the key is none of that."""
        first, now, last = self.player.progress
        cell = (last - first) / max(self.size.width, 1)
        page = (last - first) / _PAGE
        targets = {
            "left": now - cell,
            "right": now + cell,
            "page_up": now - page,
            "page_down": now + page,
            "first": first,
            "last": last,
        }
        if action == "tag":
            self.player.pause()
        elif action in targets:
            self.player.seek(targets[action])
        else:
            return False
        return True

    def draw(self, lines: Iterable[int]) -> list[Strip]:
        """Band, dates, situation."""
        width, height = self.size
        paint = self.board.paint
        line, timestamp = self.player.timeline, self.player.playback.time
        rows = [
            drawn.with_position(
                self._band(line, width),
                drawn.cell_of(line, timestamp, width),
                focused=self.has_focus,
            ),
            drawn.axis(line, timestamp, width, paint.glyphs) if height > 1 else [],
            drawn.situation(line, timestamp, width, paint.glyphs) if height > 2 else [],
        ]
        return [paint.strip(rows[y] if y < len(rows) else [], width) for y in lines]

    def _band(self, line: Timeline, width: int) -> list[drawn.Cell]:
        """Recomputed only when there is more to show."""
        ascii_only = self.board.paint.glyphs.ascii_only
        banded = self._banded
        if banded is None or banded[0] is not line or banded[1:] != (width, ascii_only):
            self._banded = line, width, ascii_only
            self._cells = drawn.band(line, width, self.board.paint.glyphs)
        return self._cells

    def on_click(self, event: events.Click) -> None:
        """Go to what is under the pointer."""
        event.stop()
        self.focus()
        self.player.seek(drawn.time_at_cell(self.player.timeline, event.x, self.size.width))

    def on_focus(self) -> None:
        """The position looks different with the keys."""
        self.refresh()

    def on_blur(self) -> None:
        """The position looks different without the keys."""
        self.refresh()
