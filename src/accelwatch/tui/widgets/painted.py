"""A widget that makes its lines itself, and makes them again only after a refresh.

Textual requests the lines of every visible widget whenever anything on the screen is painted, even if
only the age in the header is.
"""

from collections.abc import Iterable
from typing import ClassVar, Self

from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget


class Painted(Widget):
    """Remembers its lines; `refresh` forgets them, with regions only those that these touch."""

    ALLOW_SELECT: ClassVar[bool] = False

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        # Lines over the whole width, by number.
        self._made: dict[int, Strip] = {}
        self._made_for = Size(0, 0)

    def draw(self, lines: Iterable[int]) -> list[Strip]:
        """These lines, in order, over the whole width."""
        raise NotImplementedError

    def refresh(
        self,
        *regions: Region,
        repaint: bool = True,
        layout: bool = False,
        recompose: bool = False,
    ) -> Self:
        """Have it painted again."""
        for region in regions:
            for y in region.line_range:
                self._made.pop(y, None)
        if not regions:
            self._made.clear()
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines of a region: straight from what was made, without a styles cache between."""
        if self.size != self._made_for:
            self._made_for = self.size
            self._made.clear()
        missing = [y for y in crop.line_range if y not in self._made]
        if missing:
            self._made.update(zip(missing, self.draw(missing), strict=True))
        strips = [self._made[y] for y in crop.line_range]
        if crop.x == 0 and crop.width == self.size.width:
            return strips
        return [strip.crop(crop.x, crop.right) for strip in strips]
