"""What the terminal can show, and how: palettes and signs chosen from options and environment."""

from collections.abc import Mapping

import msgspec

from accelwatch.tui.drawing.glyphs import ASCII, UNICODE, Glyphs
from accelwatch.tui.theme.paint import Paint
from accelwatch.tui.theme.palettes import PALETTES


class Appearance(msgspec.Struct, frozen=True, kw_only=True):
    """The signs in use, and whether colours are ruled out."""

    glyphs: Glyphs = UNICODE
    colourless: bool = False

    def paint(self, theme: str) -> Paint:
        """Palette and signs together; without colours it is the monochrome one."""
        return Paint(PALETTES["mono" if self.colourless else theme], self.glyphs)


def appearance_for(environ: Mapping[str, str], *, utf8: bool, ascii_only: bool) -> Appearance:
    """From `--ascii`, the encoding, NO_COLOR and TERM."""
    term = environ.get("TERM", "")
    return Appearance(
        glyphs=UNICODE if utf8 and not ascii_only else ASCII,
        colourless=bool(environ.get("NO_COLOR")) or term in ("dumb", "vt100", "vt220"),
    )
