"""What a list shows, as the list sees it."""

from collections.abc import Hashable
from typing import Protocol

from accelwatch.tui.drawing.lines import Line


class Rows(Protocol):
    """Rows by number; only those that are visible are asked for."""

    def __len__(self) -> int: ...

    def heading(self, width: int) -> Line | None:
        """The line above the rows that stays when they scroll; None: there is none."""
        ...

    @property
    def stride(self) -> int:
        """Lines of a row."""
        ...

    def line(self, index: int, width: int, part: int, /) -> Line:
        """Line `part` of a row."""
        ...

    def key(self, index: int) -> Hashable:
        """What the selection is held by while rows move."""
        ...

    def place(self, key: Hashable) -> int | None:
        """Where a key is now."""
        ...
