"""What is done about incidents in few words: all of it, and what comes next on a node. Pure."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from accelwatch.base.untrusted_text import printable
from accelwatch.fleet.picture.remedies import NextStep, next_step
from accelwatch.schema.display import duration
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, width_of
from accelwatch.tui.incidents.remedy_board import RemedyBoard

if TYPE_CHECKING:
    from accelwatch.fleet.documents.remedies import RemediesPage, RemedyDocument

_ROLES = ("accent", "warn", "bad")
_LOUD = frozenset({"failed", "unknown"})
_WAITING_STAGES = frozenset({"awaiting approval", "service", "unreachable"})


def stage_role(stage: str) -> str:
    """`bad` for what has gone wrong, `warn` for what waits for a person."""
    return "bad" if stage in _LOUD else "warn" if stage in _WAITING_STAGES else "accent"


def when(step: NextStep, now: float) -> str:
    """`tried again in 4 min`; empty where there is no clock."""
    if not step.at:
        return ""
    left = step.at - now
    return f"{step.on_timeout} in {duration(left)}" if left >= 1.0 else f"{step.on_timeout} now"


def next_step_text(remedy: "RemedyDocument", now: float, width: int) -> str:
    """Stage, what comes next, and when: as much as fits a cell, the most important part in any case."""
    step = next_step(remedy)
    clock = "" if step.blocked else when(step, now)
    left = duration(step.at - now) if clock and step.at > now else ""
    choices = [f"{step.stage}: {', '.join(filter(None, (step.text, clock)))}"]
    if not step.blocked:
        choices += [", ".join(filter(None, (step.text, left))), step.stage]
    return next((text for text in choices if len(text) <= width), step.text)


def of_incident(remedies: "Sequence[RemedyDocument]", now: float, width: int) -> Line:
    """What comes next for an incident; of many nodes how many are how far."""
    if len(remedies) == 1:
        (remedy,) = remedies
        return [(next_step_text(remedy, now, width), stage_role(next_step(remedy).stage))]
    counts = Counter(next_step(remedy).stage for remedy in remedies)
    text = ", ".join(f"{count} {stage}" for stage, count in counts.most_common())
    return [(text, max(map(stage_role, counts), key=_ROLES.index))] if counts else []


def status_lines(board: RemedyBoard, width: int, glyphs: Glyphs) -> tuple[Line, Line]:
    """What is wrong with acting as a whole, and how far it may go; both empty where nobody acts."""
    page = board.page
    if page is None or not page.acts:
        return ([(f" {_shown(board.problem, glyphs)}", "warn")] if board.problem else []), []
    return _wrong(board, page, glyphs), _bounds(page, width)


def _wrong(board: RemedyBoard, page: "RemediesPage", glyphs: Glyphs) -> Line:
    """The loudest one: a stop, the breaker, what is not seen, what does not answer."""
    if page.stopped_by:
        by = f" by {page.stopped_by}" + (f": {page.stopped_why}" if page.stopped_why else "")
        return [(" STOP", "bad"), (_shown(by, glyphs), "warn")]
    if page.breaker != "closed":
        state = page.breaker.replace("_", " ")
        return [(f" breaker {state}", "bad"), (_shown(f": {page.breaker_why}", glyphs), "warn")]
    for head, text in (
        ("nothing new is started", page.frozen),
        ("rules need approval", page.approval_needed),
        ("remedies", next(iter(page.problems), "")),
    ):
        if text:
            return [(_shown(f" {head}: {text}", glyphs), "warn")]
    return [(_shown(f" {board.problem}", glyphs), "warn")] if board.problem else []


def _bounds(page: "RemediesPage", width: int) -> Line:
    """The ceiling, nodes that are out of those that may be, and the breaker."""
    out = sum(budget.out for budget in page.budgets if budget.group.startswith("pool="))
    most = sum(budget.most for budget in page.budgets if budget.group.startswith("pool="))
    full = any(budget.out >= budget.most for budget in page.budgets)
    line: Line = [(f"up to {page.ceiling}", "dim" if page.ceiling != "observe" else "faint")]
    if page.budgets:
        line += [(f"  {out} of {most} nodes out", "warn" if full else "dim")]
    if page.breaker == "closed":
        line.append(("  breaker closed", "faint"))
    return [*line, (" ", "text")] if width_of(line) < width // 2 else [*line[:2], (" ", "text")]


def _shown(text: str, glyphs: Glyphs) -> str:
    return printable(text, ascii_only=glyphs.ascii_only)
