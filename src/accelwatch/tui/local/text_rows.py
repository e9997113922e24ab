"""Ready lines as rows of a list that only scrolls; rewritten when the width changes. Pure."""

from collections.abc import Callable, Hashable

from accelwatch.tui.drawing.lines import Line

# All lines for a width.
Write = Callable[[int], list[Line]]


class TextRows:
    """What `write` gives, kept until `forget`."""

    stride = 1

    def __init__(self, write: Write) -> None:
        self._write = write
        self._width = 80
        self._lines: list[Line] | None = None

    def forget(self) -> None:
        """Rewrite them at the next chance."""
        self._lines = None

    def lines(self, width: int) -> list[Line]:
        """The lines at a width."""
        if self._lines is None or width != self._width:
            self._width = width
            self._lines = self._write(width)
        return self._lines

    def __len__(self) -> int:
        return len(self.lines(self._width))

    def heading(self, _: int, /) -> Line | None:
        """There is none."""
        return None

    def line(self, index: int, width: int, _: int, /) -> Line:
        """One line."""
        lines = self.lines(width)
        return lines[index] if index < len(lines) else []

    def key(self, index: int) -> Hashable:
        """Its number."""
        return index

    def position_of(self, key: Hashable) -> int | None:
        """The number itself."""
        return key if isinstance(key, int) and key < len(self) else None
