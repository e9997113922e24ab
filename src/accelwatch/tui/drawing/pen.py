"""Texts in styles as characters and escape sequences for a terminal."""

from functools import lru_cache
from typing import NamedTuple

from rich.color import Color, ColorSystem
from rich.style import Style

_MARK = "x"


class Look(NamedTuple):
    """What a style sets, as parameters of the sequence that sets it (ECMA-48, SGR)."""

    attributes: str = ""
    foreground: str = "39"
    background: str = "49"


PLAIN = Look()
"""The terminal's own."""


class Pen:
    """Writes cells; colours are set only where they change, across gaps and lines too."""

    def __init__(self, system: ColorSystem) -> None:
        self._system = system
        self._given: list[str] = []
        self._style: Style | None = None
        self._look = PLAIN

    def move(self, y: int, x: int) -> None:
        """Go on at another place, counted from 0."""
        self._given.append(f"\x1b[{y + 1};{x + 1}H")

    def write(self, text: str, style: Style | None) -> None:
        """Write text in a style; None is the terminal's own."""
        if style is not self._style:
            self._style = style
            self._turn_to(PLAIN if style is None else _look(style, self._system))
        self._given.append(text)

    def finished(self) -> str:
        """All that was written, with the terminal's own colours at the end."""
        self._turn_to(PLAIN)
        return "".join(self._given)

    def _turn_to(self, look: Look) -> None:
        before, self._look = self._look, look
        if look == before:
            return
        changed = [look.foreground] if look.foreground != before.foreground else []
        changed += [look.background] if look.background != before.background else []
        if look == PLAIN:
            changed = ["0"]
        elif look.attributes != before.attributes:
            # There is no common way to take one attribute back: begin with none.
            changed = [part for part in ("0", *look) if part]
        self._given.append(f"\x1b[{';'.join(changed)}m")


@lru_cache(maxsize=512)
def _look(style: Style, system: ColorSystem) -> Look:
    """The parameters that begin a style."""
    bare = style.without_color.render(_MARK, color_system=system).partition(_MARK)[0]
    return Look(
        bare.removeprefix("\x1b[").removesuffix("m"),
        _colour(style.color, system, foreground=True) or PLAIN.foreground,
        _colour(style.bgcolor, system, foreground=False) or PLAIN.background,
    )


def _colour(colour: Color | None, system: ColorSystem, *, foreground: bool) -> str:
    if colour is None:
        return ""
    return ";".join(colour.downgrade(system).get_ansi_codes(foreground=foreground))
