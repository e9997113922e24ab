"""Changes as a list: when, where, what, until when and how long."""

from collections.abc import Callable, Hashable, Sequence

from accelwatch.schema.display import printable
from accelwatch.schema.event import SEVERITIES
from accelwatch.tui.drawing.format import NOTHING, clock_time
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, fit, width_of
from accelwatch.tui.drawing.severity_signs import severity_role, severity_sign
from accelwatch.tui.events.changes import Change
from accelwatch.tui.events.event_lines import time_label
from accelwatch.tui.state.board import Board

# From this width a change that is over shows when it ended, not only how long it lasted.
_WITH_END_TIMES = 110
# So long a change is shown as new.
_NEW_S = 60.0

# Of since when, where, what, and until when or how long; the text gets what is left.
Widths = tuple[int, int, int, int]


def span_text(seconds: float) -> str:
    """`42 s`, `2 min 33 s`, `3 h 05 min`, `2 d 4 h`."""
    rounded = max(round(seconds), 0)
    if rounded < 60:
        return f"{rounded} s"
    if rounded < 3600:
        return f"{rounded // 60} min {rounded % 60:02} s"
    if rounded < 86400:
        return f"{rounded // 3600} h {rounded % 3600 // 60:02} min"
    return f"{rounded // 86400} d {rounded % 86400 // 3600} h"


class ChangeList:
    """Rows of a list; `changes` gives them in their order."""

    stride = 1

    def __init__(
        self, board: Board, changes: Callable[[], Sequence[Change]], now: Callable[[], float]
    ) -> None:
        self._board = board
        self._changes = changes
        self._now = now
        self._measured: tuple[Sequence[Change], int, Widths] = ((), 0, (0, 0, 0, 0))

    def __len__(self) -> int:
        return len(self._changes())

    def at(self, index: int) -> Change | None:
        """The change of a row."""
        rows = self._changes()
        return rows[index] if 0 <= index < len(rows) else None

    def heading(self, width: int) -> Line | None:
        """Titles; without any row there is nothing for them to stand above."""
        if not len(self):
            return None
        since, where, what, until = self._widths(width)
        titles = f"   {fit('SINCE', since)}{fit('WHERE', where)}{fit('WHAT', what)}"
        last = fit("UNTIL" if width >= _WITH_END_TIMES else "LASTS", until)
        return clipped([(titles + last, "head")], width)

    def line(self, index: int, width: int, _: int, /) -> Line:
        """One change."""
        change = self.at(index)
        if change is None:
            return []
        return change_line(
            change, width, self._now(), self._board.paint.glyphs, self._widths(width)
        )

    def _widths(self, width: int) -> Widths:
        """Measured once for the same rows, which are the same list until one of them changes."""
        rows = self._changes()
        if self._measured[0] is not rows or self._measured[1] != width:
            self._measured = rows, width, widths_of(rows, width)
        return self._measured[2]

    def key(self, index: int) -> Hashable:
        """What it is, so that the selection stays with it."""
        change = self.at(index)
        return None if change is None else change.key

    def position_of(self, key: Hashable) -> int | None:
        """Where a change is now."""
        return next((at for at, change in enumerate(self._changes()) if change.key == key), None)

    def bare(self, width: int) -> list[Line]:
        """What is shown when there is no row."""
        text = " Nothing has happened since the start: no state has changed, no event came."
        return [clipped([(text, "dim")], width)]


def widths_of(rows: Sequence[Change], width: int) -> Widths:
    """What the rows need, in bounds: so that what is wrong and what to do have the rest."""
    where = max((len(_where(row)) for row in rows), default=0) + 1
    what = max((len(row.label) for row in rows), default=0) + 2
    over = any(row.resolved_at is not None for row in rows)
    if width >= _WITH_END_TIMES:
        return 10, min(max(where, 8), 24), min(max(what, 6), 14), 26 if over else 16
    return 9, min(max(where, 8), 24 if width >= 100 else 16), 9, 16 if width >= 80 else 0


def _where(change: Change) -> str:
    return " ".join(label for label in (change.node, change.name) if label) or "machine"


def change_line(
    change: Change, width: int, now: float, glyphs: Glyphs, widths: Widths | None = None
) -> Line:
    """What goes on is in the colour of its severity, what is new is bright, what is over is dim."""
    role = severity_role(change.severity)
    own = role if change.is_ongoing else "strong" if now - change.started_at < _NEW_S else "text"

    def cut(text: str, cells: int) -> str:
        shown = printable(text, ascii_only=glyphs.ascii_only)
        return fit(shown, cells - 1, ellipsis=glyphs.ellipsis) + " "

    since, room, what, until = widths or widths_of([change], width)
    line: Line = [
        (f" {severity_sign(change.severity, glyphs)} ", role),
        (
            fit(time_label(change.started_at, now) if change.dated else NOTHING, since),
            own if change.is_ongoing else "dim",
        ),
        (cut(_where(change), room), own),
        (cut(change.label, max(what, len(change.label) + 1)), role),
    ]
    over = _until(change, now, with_end=width >= _WITH_END_TIMES)
    line.append((fit(over, until), own if change.is_ongoing else "dim"))
    left = width - width_of(line)
    then = f" {glyphs.then} {change.remedy}" if change.remedy and change.is_ongoing else ""
    return clipped([*line, (cut(change.text + then, max(left + 1, 1)), "text")], width)


def _until(change: Change, now: float, *, with_end: bool) -> str:
    if change.event:
        return ""
    if change.resolved_at is None:
        return f"for {span_text(now - change.started_at)}" if change.dated else "ongoing"
    if not change.dated:
        return f"back {clock_time(change.resolved_at)}" if with_end else NOTHING
    lasted = span_text(change.resolved_at - change.started_at)
    return f"back {clock_time(change.resolved_at)}, {lasted}" if with_end else lasted


def totals(changes: Sequence[Change], width: int, glyphs: Glyphs) -> Line:
    """How many go on, by severity, how many are over, and how many events there were."""
    on = [change for change in changes if change.is_ongoing]
    events = sum(change.event for change in changes)
    over = len(changes) - len(on) - events
    line: Line = [(f" {len(on)} ongoing  ", "strong" if on else "dim")]
    for level in SEVERITIES:
        count = sum(change.severity == level for change in on)
        if count:
            role = severity_role(level)
            line.append((f"{severity_sign(level, glyphs)} {count} {level}  ", role))
    line.append((f"{over} resolved  {events} event{'' if events == 1 else 's'}", "dim"))
    return clipped(line, width)
