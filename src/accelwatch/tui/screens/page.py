"""A screen of text under a header, with graphs above or below the text where there is room."""

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen

from accelwatch.tui.local.text_rows import TextRows, Write
from accelwatch.tui.state.board import Board
from accelwatch.tui.widgets.footer import Footer
from accelwatch.tui.widgets.header_panel import header_panel
from accelwatch.tui.widgets.panel import Draw, Panel
from accelwatch.tui.widgets.row_list import RowList

# Lines of the graphs for the lines of the terminal.
Heights = Callable[[int], int]
_STEPS = {"up": -1, "down": 1}


class PageScreen(Screen[None], inherit_bindings=False):
    """Scrolls what `write` gives. `handle` gets every key first."""

    ALLOW_SELECT: ClassVar[bool] = False
    AUTO_FOCUS: ClassVar[str | None] = None

    def __init__(
        self,
        board: Board,
        view_name: str,
        write: Write,
        now: Callable[[], float],
        *,
        draw: Draw | None = None,
        heights: Heights | None = None,
        handle: Callable[[str], bool] | None = None,
        text_first: bool = False,
    ) -> None:
        super().__init__()
        self.board = board
        self.view_name = view_name
        self.text = TextRows(write)
        self._heights = heights
        self._handle = handle
        self._text_first = text_first
        self._header = header_panel(board, now, view_name)
        self._strip = Panel(board, draw, id="strip") if draw is not None else None
        self._lines = RowList(board, self.text, id="text", pointed=False)

    def compose(self) -> ComposeResult:
        """Header, graphs and text, keys."""
        yield self._header
        if self._strip is not None and not self._text_first:
            yield self._strip
        yield self._lines
        if self._strip is not None and self._text_first:
            yield self._strip
        yield Footer(self.board, self.view_name)

    def on_mount(self) -> None:
        """Share the lines out."""
        self._share_out()
        self._lines.focus()

    def on_resize(self, _: events.Resize) -> None:
        """Share the lines out again."""
        self._share_out()

    def _share_out(self) -> None:
        rows = self.app.size.height
        self._header.styles.height = 2 if rows >= 16 else 1
        if self._strip is not None and self._heights is not None:
            lines = self._heights(rows)
            self._strip.styles.height = lines
            self._strip.display = lines > 0

    def show(self) -> None:
        """The board has changed."""
        self._share_out()
        self.text.forget()
        self._lines.refreshed()
        self._header.refresh()
        if self._strip is not None:
            self._strip.refresh()

    def show_age(self) -> None:
        """A second has passed."""
        self._header.refresh()

    @property
    def lines_in_view(self) -> range:
        """The numbers of the lines that are on the screen, less one where it says how many follow."""
        end = self._lines.top + self._lines.page
        return range(self._lines.top, end - 1 if end < len(self.text) else len(self.text))

    def scroll_line_to_top(self, find: Callable[[], int]) -> None:
        """Bring a line to the top; `find` gives its number once the lines have been rewritten."""
        self.text.forget()

        def scroll() -> None:
            self.text.lines(self.app.size.width)
            self._lines.show_from(find())

        self.call_after_refresh(scroll)

    def perform(self, action: str) -> bool:
        """Scroll, or what the page itself does."""
        if self._handle is not None and self._handle(action):
            self.show()
            return True
        rows = self._lines
        page = max(rows.page - 1, 1)  # its last line may have made room for how many more there are
        steps = {**_STEPS, "page_up": -page, "page_down": page}
        if action in steps:
            rows.move(steps[action])
        elif action in ("first", "last"):
            rows.move(len(rows.rows) * (-1 if action == "first" else 1))
        else:
            return False
        return True
