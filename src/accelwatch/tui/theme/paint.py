"""From lines in roles to strips in colours."""

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from accelwatch.tui.drawing.device_signs import FILLED
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, Span, clipped
from accelwatch.tui.theme.palettes import Palette

if TYPE_CHECKING:
    from textual.strip import Strip

# Lines that are kept as painted: most of a screen is what it was a second ago.
_MOST_STRIPS = 256
# Roles in which a blank looks like something.
_VISIBLE = FILLED | {"tab", "cursor", "cursor_away"}


class Paint:
    """A palette and signs, ready to use. `overlay` is `selected`, `cursor`, `edge` or nothing."""

    def __init__(self, palette: Palette, glyphs: Glyphs) -> None:
        self.palette = palette
        self.glyphs = glyphs
        # Of this painter, not global: another theme is another painter, and drops them. Most lines
        # are the same from one repaint to the next.
        self._style = lru_cache(maxsize=512)(self._new_style)
        self._strip = lru_cache(maxsize=_MOST_STRIPS)(self._new_strip)

    def strip(self, line: Line, width: int, overlay: str = "") -> "Strip":
        """One line of the screen, exactly `width` cells; the same one for the same line."""
        return self._strip(tuple(line), width, overlay)

    def _new_strip(self, line: tuple[Span, ...], width: int, overlay: str) -> "Strip":
        from textual.strip import Strip  # a first picture is painted while it is being loaded

        return Strip(self.segments(line, width, overlay), width)

    def segments(self, line: Iterable[Span], width: int, overlay: str = "") -> list[Segment]:
        """The same as texts in styles."""
        style = self._style
        segments = [
            Segment(text, style(role, overlay)) for text, role in joined(clipped(line, width))
        ]
        if self.glyphs.ascii_only:
            segments = [Segment(_ascii(text), segment_style) for text, segment_style, _ in segments]
        return segments

    def _new_style(self, role: str, overlay: str) -> Style:
        palette = self.palette
        style = Style.parse(palette.roles.get(role, "default"))
        if not palette.ansi and style.bgcolor is None:
            style = Style.parse(f"on {palette.background}") + style
        if overlay == "selected" and palette.ansi:
            return Style(reverse=True, bold=style.bold)
        if overlay:
            style = style + Style.parse(getattr(palette, overlay))
        return style


def joined(line: Line) -> Line:
    """Neighbours in one role as one span, and blanks with the span before: less for the terminal."""
    spans: Line = []
    last, role_before = "", ""
    for text, role in line:
        if spans and (role == role_before or (role_before not in _VISIBLE and not text.strip(" "))):
            last += text
            spans[-1] = (last, role_before)
        else:
            last, role_before = text, role
            spans.append((text, role))
    return spans


def _ascii(text: str) -> str:
    """A last gate: what is no ASCII, in as many cells."""
    if text.isascii():
        return text
    return "".join(
        char if char.isascii() else "~" if char == "…" else "?" * cell_len(char) for char in text
    )
