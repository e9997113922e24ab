"""A list with a selected row. It paints the lines that are visible and nothing else."""

from collections.abc import Callable, Hashable, Iterable
from typing import Protocol

from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from accelwatch.tui.drawing.lines import Line
from accelwatch.tui.state.board import Board
from accelwatch.tui.widgets.painted import Painted

_WHEEL = 3


class Rows(Protocol):
    """Rows by number; only the visible ones are drawn."""

    def __len__(self) -> int: ...

    def heading(self, width: int) -> Line | None:
        """The line above the rows that stays when they scroll; None: there is none."""
        ...

    @property
    def stride(self) -> int:
        """Lines of a row."""
        ...

    def line(self, index: int, width: int, line_index: int, /) -> Line:
        """Line `line_index` of a row."""
        ...

    def key(self, index: int) -> Hashable:
        """What the selection is held by while rows move."""
        ...

    def position_of(self, key: Hashable) -> int | None:
        """Where a key is now."""
        ...


class RowList(Painted):
    """Lines by number from `rows`, which may hold thousands."""

    can_focus = True

    class Chosen(Message):
        """Enter, or a second click on the selected row."""

        def __init__(self, rows: "RowList") -> None:
            super().__init__()
            self.rows = rows

    class HeadingClicked(Message):
        """The heading was clicked, at column `x`."""

        def __init__(self, rows: "RowList", x: int) -> None:
            super().__init__()
            self.rows = rows
            self.x = x

    def __init__(
        self,
        board: Board,
        rows: Rows,
        *,
        id: str,
        pointed: bool = True,
        highlighted: bool = True,
        moved: Callable[[], None] | None = None,
        bare: Callable[[int], list[Line]] | None = None,
    ) -> None:
        """`bare` gives what is shown at a width when there is no row."""
        super().__init__(id=id)
        self.board = board
        self.rows = rows
        self.cursor = 0
        self.top = 0
        # Whether a row is selected at all, or the lines only scroll.
        self.pointed = pointed
        # Whether the selected row stands out while the keys go elsewhere: it still means something.
        self._highlighted = highlighted
        self._key: Hashable = None
        self._bare = bare
        # Called at once when another row is selected, so that nothing comes between.
        self._moved = moved

    @property
    def selected_key(self) -> Hashable:
        """What is selected; None in an empty list."""
        return self.rows.key(self.cursor) if 0 <= self.cursor < len(self.rows) else None

    @property
    def _headed(self) -> bool:
        return self.rows.heading(10) is not None

    @property
    def page(self) -> int:
        """Rows that are visible at a time."""
        return max((self.size.height - self._headed) // self.rows.stride, 1)

    def refreshed(self) -> None:
        """The rows have changed: keep the selection where its thing is now, and paint."""
        position = self.rows.position_of(self._key) if self._key is not None else None
        self._set_cursor(position if position is not None else self.cursor)
        self.refresh()

    def select(self, key: Hashable) -> None:
        """Select a thing if it is there."""
        position = self.rows.position_of(key)
        if position is not None:
            self.move_to(position)

    def move(self, step: int) -> bool:
        """Select the row `step` on; false when that is beyond the end."""
        if not self.pointed:
            return self._scroll(step)
        target = self.cursor + step
        inside = 0 <= target < len(self.rows)
        self.move_to(target)
        return inside

    def _scroll(self, step: int) -> bool:
        before = self.top
        self.top = min(max(self.top + step, 0), max(len(self.rows) - self.page, 0))
        self.cursor = self.top
        self.refresh()
        return self.top != before

    def show_from(self, index: int) -> None:
        """Bring a line to the top, or as near to it as the last line allows; for lines that scroll."""
        self._scroll(index - self.top)

    def move_to(self, index: int) -> None:
        """Select a row by number, the nearest there is."""
        before, top = self.cursor, self.top
        self._set_cursor(index)
        if (self.cursor, self.top) == (before, top):
            return
        if self.top != top:
            self.refresh()
        else:
            self._refresh_row(before)
            self._refresh_row(self.cursor)
        if self._moved is not None:
            self._moved()

    def far(self, action: str) -> None:
        """Select a page up or down, or the first or last row, by the key's action."""
        target = {
            "page_up": self.cursor - self.page,
            "page_down": self.cursor + self.page,
            "first": 0,
            "last": len(self.rows) - 1,
        }[action]
        self.move_to(target)

    def _set_cursor(self, index: int) -> None:
        count = len(self.rows)
        if not self.pointed:
            self.top = min(self.top, max(count - self.page, 0))
            return
        self.cursor = min(max(index, 0), max(count - 1, 0))
        self._key = self.selected_key
        if self.cursor < self.top:
            self.top = self.cursor
        elif self.size and self.cursor >= self.top + self.page:
            # Without a size there is no page yet: it begins at the first row if that has the cursor.
            self.top = self.cursor - self.page + 1
        self.top = min(self.top, max(count - self.page, 0))

    def _refresh_row(self, index: int) -> None:
        stride = self.rows.stride
        y = (index - self.top) * stride + self._headed
        self.refresh(Region(0, y, self.size.width, stride))

    def on_resize(self, _: events.Resize) -> None:
        """Keep the selected row visible; what was painted at this size already is painted again."""
        top = self.top
        self._set_cursor(self.cursor)
        if self.top != top:
            self.refresh()

    def on_focus(self) -> None:
        """The selected row looks different with the keys."""
        self.refresh()

    def on_blur(self) -> None:
        """The selected row looks different without the keys."""
        self.refresh()

    def draw(self, lines: Iterable[int]) -> list[Strip]:
        """The heading and the rows below it."""
        width = self.size.width
        heading = self.rows.heading(width)
        if heading is None:
            return [self._drawn(y, width) for y in lines]
        title = self.board.paint.strip(heading, width)
        return [self._drawn(y - 1, width) if y else title for y in lines]

    def _drawn(self, y: int, width: int) -> Strip:
        """One line below the heading."""
        paint = self.board.paint
        down, line_index = divmod(y, self.rows.stride)
        index = self.top + down
        if index >= len(self.rows):
            bare = self._bare(width) if self._bare is not None and not len(self.rows) else []
            return paint.strip(bare[y] if y < len(bare) else [], width)
        line = self.rows.line(index, width, line_index)
        left = len(self.rows) - index
        if not self.pointed and left > 1 and y + 1 + self._headed == self.size.height > 1:
            line = [(f" {paint.glyphs.ellipsis} {left} more lines below", "accent")]
        gap = self.rows.stride > 1 and line_index == self.rows.stride - 1
        shown = self.pointed and (self.has_focus or self._highlighted)
        if not shown or index != self.cursor or gap:
            return paint.strip(line, width)
        if self.has_focus and line and line[0][0].startswith(" "):
            first, role = line[0]
            line = [(paint.glyphs.cursor, "accent"), (first[1:], role), *line[1:]]
        return paint.strip(line, width, "selected" if self.has_focus else "cursor")

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Move on."""
        event.stop()
        self.move(_WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Move back."""
        event.stop()
        self.move(-_WHEEL)

    def on_click(self, event: events.Click) -> None:
        """Select the row under the pointer; choose it when it is selected already."""
        event.stop()
        if self._headed and event.y == 0:
            self.post_message(self.HeadingClicked(self, event.x))
            return
        index = self.top + (event.y - self._headed) // self.rows.stride
        if index >= len(self.rows) or not self.pointed:
            return
        if index == self.cursor:
            self.post_message(self.Chosen(self))
        else:
            self.move_to(index)
