"""Texts in styles as characters and escape sequences for a terminal."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from rich.color import Color, ColorSystem
from rich.style import Style

_PLACEHOLDER = "x"
# The signs besides ASCII that every terminal draws in one cell; others need two where people write
# Chinese, Japanese or Korean.
_BRAILLE = re.compile("[\u2800-\u28ff]*")


# Colours by the last word of a terminal's name, as in rich.
_SYSTEMS = {
    "kitty": ColorSystem.EIGHT_BIT,
    "256color": ColorSystem.EIGHT_BIT,
}


def system_of(environ: Mapping[str, str]) -> ColorSystem:
    """The colours that rich's console, and with it Textual, assumes of the terminal; loads neither."""
    term = environ.get("TERM", "")
    if environ.get("COLORTERM", "").strip().lower() in {"truecolor", "24bit"}:
        return ColorSystem.TRUECOLOR
    if term.lower() in {"dumb", "unknown"}:  # of these it says nothing
        return ColorSystem.TRUECOLOR
    return _SYSTEMS.get(term.strip().lower().rpartition("-")[2], ColorSystem.STANDARD)


class Rendition(NamedTuple):
    """What a style sets, as parameters of the sequence that sets it (ECMA-48, SGR)."""

    attributes: str = ""
    foreground: str = "39"
    background: str = "49"


# The terminal's own.
PLAIN = Rendition()


class Pen:
    """Writes cells; colours are set only where they change, across gaps and lines too."""

    def __init__(self, system: ColorSystem, width: int = 0) -> None:
        """`width`: columns of the terminal; behind the last one its cursor's position is not certain."""
        self._system = system
        self._width = width
        self._output: list[str] = []
        self._style: Style | None = None
        self._rendition = PLAIN
        # Line and column of the cursor.
        self._cursor: tuple[int, int] | None = None

    def move(self, y: int, x: int) -> None:
        """Go on at another position, counted from 0, by the shortest way."""
        sequences = [f"\x1b[{y + 1};{x + 1}H"]
        if self._cursor is not None:
            down, right = y - self._cursor[0], x - self._cursor[1]
            sequences.append(_down(down, y) + _right(right, x))
        self._output.append(min(sequences, key=len))
        self._cursor = y, x

    def write(self, text: str, style: Style | None) -> None:
        """Write text in a style; None is the terminal's own."""
        if style is not self._style:
            self._style = style
            self._turn_to(PLAIN if style is None else _rendition_of(style, self._system))
        self._output.append(text)
        if self._cursor is not None:
            y, x = self._cursor[0], self._cursor[1] + len(text)
            certain = x < self._width and (text.isascii() or _BRAILLE.fullmatch(text))
            self._cursor = (y, x) if certain else None

    def finished(self) -> str:
        """All that was written, with the terminal's own colours at the end."""
        self._turn_to(PLAIN)
        return "".join(self._output)

    def _turn_to(self, rendition: Rendition) -> None:
        before, self._rendition = self._rendition, rendition
        if rendition == before:
            return
        changed = [rendition.foreground] if rendition.foreground != before.foreground else []
        changed += [rendition.background] if rendition.background != before.background else []
        if rendition == PLAIN:
            changed = []  # the sequence without a parameter is the one with 0
        elif rendition.attributes != before.attributes:
            # There is no common way to reset one attribute: begin with none.
            changed = [parameter for parameter in ("0", *rendition) if parameter]
        self._output.append(f"\x1b[{';'.join(changed)}m")


def _down(lines: int, y: int) -> str:
    """To line `y`, the column kept (ECMA-48: VT, which VT100 and all after it treat as IND; VPA).

    A tab of lines is one byte, and no terminal driver makes two of it, as of a line feed.
    """
    absolute = f"\x1b[{y + 1}d"
    return "\v" * lines if 0 <= lines < len(absolute) else absolute


def _right(cells: int, x: int) -> str:
    """To column `x` of the same line (ECMA-48: BS, CUF, CHA)."""
    if not cells:
        return ""
    relative = "\b" * -cells if cells < 0 else "\x1b[C" if cells == 1 else f"\x1b[{cells}C"
    return min(relative, f"\x1b[{x + 1}G", key=len)


# Rich renders a style again for every span; a theme has a few dozen styles.
@lru_cache(maxsize=512)
def _rendition_of(style: Style, system: ColorSystem) -> Rendition:
    """The parameters that begin a style."""
    bare = style.without_color.render(_PLACEHOLDER, color_system=system).partition(_PLACEHOLDER)[0]
    return Rendition(
        bare.removeprefix("\x1b[").removesuffix("m"),
        _colour(style.color, system, foreground=True) or PLAIN.foreground,
        _colour(style.bgcolor, system, foreground=False) or PLAIN.background,
    )


def _colour(colour: Color | None, system: ColorSystem, *, foreground: bool) -> str:
    if colour is None:
        return ""
    return ";".join(colour.downgrade(system).get_ansi_codes(foreground=foreground))
