"""What is wrong, in the room there is: the evidence gives way first, the verdict last. Pure."""

from accelwatch.schema.display import printable
from accelwatch.schema.status.verdict import Verdict
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, cell_len, fit, wrapped

# Cells below which a part that does not fit is left out rather than cut.
_LEAST_TAIL = 10


def sentence(
    verdict: Verdict, width: int, glyphs: Glyphs, role: str, *, status: str = "", since: str = ""
) -> Line:
    """`lost 18 s  fell off the bus → reboot the node (NVML_ERROR_GPU_IS_LOST)` in `width` cells.

    `status` and `since` stand before it. Since when gives way where what to do fits without it, and
    before the verdict is cut.
    """
    finding, remedy, evidence = _components(verdict, glyphs)
    long, short = (
        " ".join(("".join(f"{label} " for label in labels if label), finding)).lstrip()
        for labels in ((status, since), (status,))
    )
    needed = (f"{long} {remedy}", f"{short} {remedy}", long)
    fitting = next(
        (index for index, candidate in enumerate(needed) if cell_len(candidate) <= width), 1
    )
    text = short if fitting == 1 else long
    text = fit(text, min(cell_len(text), width), ellipsis=glyphs.ellipsis)
    for detail in filter(None, (remedy, evidence)):
        gap = " " if text else ""
        room = width - cell_len(text + gap)
        if cell_len(detail) > room and room < _LEAST_TAIL:
            break
        text += gap + fit(detail, min(cell_len(detail), room), ellipsis=glyphs.ellipsis)
    return [(fit(text, width), role)]


def verdict_text(verdict: Verdict, glyphs: Glyphs) -> str:
    """All of it on one line, however long: verdict, remedy, evidence."""
    return " ".join(fragment for fragment in _components(verdict, glyphs) if fragment)


def full_sentence(verdict: Verdict, width: int, glyphs: Glyphs, role: str) -> list[Line]:
    """All of it on as many lines as it needs, set in; none when nothing is wrong."""
    text = verdict_text(verdict, glyphs)
    return [[(f"   {row}", role)] for row in wrapped(text, max(width - 4, 10)) if row]


def _components(verdict: Verdict, glyphs: Glyphs) -> tuple[str, str, str]:
    remedy = f"{glyphs.then} {verdict.remedy}" if verdict.remedy else ""
    evidence = f"({verdict.evidence})" if verdict.evidence else ""
    finding, remedy, evidence = (
        printable(text, ascii_only=glyphs.ascii_only)
        for text in (verdict.summary, remedy, evidence)
    )
    return finding, remedy, evidence
