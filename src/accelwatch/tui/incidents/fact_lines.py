"""A fact as lines: its name, then a text that is folded beside it."""

from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, fit, paragraph

# Cells of what stands before each fact.
HEAD_CELLS = 12


def fact_lines(name: str, text: str, role: str, width: int, glyphs: Glyphs) -> list[Line]:
    """The text in the given role, the name dim."""
    rows = paragraph(f" {fit(name, HEAD_CELLS)}", text, role, width, glyphs)
    return [[(head, "dim"), *texts] for (head, _), *texts in rows]
