"""What is wrong, in the room there is: the evidence gives way first, the verdict last. Pure."""

from accelwatch.exposition.display import printable
from accelwatch.schema.verdict import Verdict
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, cell_len, fit, wrapped

_LEAST_TAIL = 10
"""Cells below which a part that does not fit is left out rather than cut."""


def sentence(
    verdict: Verdict, width: int, glyphs: Glyphs, role: str, *, word: str = "", since: str = ""
) -> Line:
    """`lost 18 s  fell off the bus → reboot the node (NVML_ERROR_GPU_IS_LOST)` in `width` cells.

    `word` and `since` stand before it. Since when gives way where what to do fits without it, and
    before the verdict is cut.
    """
    said, remedy, evidence = _parts(verdict, glyphs)
    long, short = (
        " ".join(("".join(f"{part} " for part in parts if part), said)).lstrip()
        for parts in ((word, since), (word,))
    )
    needed = (f"{long} {remedy}", f"{short} {remedy}", long)
    fitting = next((place for place, one in enumerate(needed) if cell_len(one) <= width), 1)
    text = short if fitting == 1 else long
    text = fit(text, min(cell_len(text), width), ellipsis=glyphs.ellipsis)
    for part in filter(None, (remedy, evidence)):
        gap = " " if text else ""
        room = width - cell_len(text + gap)
        if cell_len(part) > room and room < _LEAST_TAIL:
            break
        text += gap + fit(part, min(cell_len(part), room), ellipsis=glyphs.ellipsis)
    return [(fit(text, width), role)]


def in_words(verdict: Verdict, glyphs: Glyphs) -> str:
    """All of it on one line, however long: verdict, remedy, evidence."""
    return " ".join(part for part in _parts(verdict, glyphs) if part)


def whole_sentence(verdict: Verdict, width: int, glyphs: Glyphs, role: str) -> list[Line]:
    """All of it on as many lines as it needs, set in; none when nothing is wrong."""
    text = in_words(verdict, glyphs)
    return [[(f"   {row}", role)] for row in wrapped(text, max(width - 4, 10)) if row]


def _parts(verdict: Verdict, glyphs: Glyphs) -> tuple[str, str, str]:
    remedy = f"{glyphs.then} {verdict.remedy}" if verdict.remedy else ""
    evidence = f"({verdict.evidence})" if verdict.evidence else ""
    said, remedy, evidence = (
        printable(text, ascii_only=glyphs.ascii_only) for text in (verdict.said, remedy, evidence)
    )
    return said, remedy, evidence
