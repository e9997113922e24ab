"""The whole span of a recorded fleet on one line: events, incidents, maintenance, silence, the position.

Pure. Below it the dates in the user's zone, and what was open at the moment.
"""

import bisect
from collections.abc import Sequence
from datetime import datetime

from accelwatch.exposition.display import printable
from accelwatch.fleet.picture.timeline import ALERT, INFO, LEVELS, Mark, Playback, Stretch, Timeline
from accelwatch.schema.device import DeviceState
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, fit, width_of
from accelwatch.tui.drawing.plot import pooled

_MOST_NAMED = 3
Cell = tuple[str, str]
"""A sign and its role."""


def local_time(moment: float) -> str:
    """`2026-03-14 10:32:05 CET`."""
    return datetime.fromtimestamp(moment).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def local_day(moment: float) -> str:
    """`2026-03-14`."""
    return datetime.fromtimestamp(moment).astimezone().strftime("%Y-%m-%d")


def banner(playback: Playback, glyphs: Glyphs) -> str:
    """How it plays and where it is, for the header of any screen."""
    word = "ended" if playback.ended else f"{playback.speed:g}x" if playback.playing else "stopped"
    if not glyphs.ascii_only:
        word = f"{'▶' if playback.playing and not playback.ended else '■'} {word}"
    loop = ", loop" if playback.loop else ""
    return f"{word}{loop} {local_time(playback.moment)}"


def cell_of(line: Timeline, moment: float, width: int) -> int:
    """The cell that a moment is in."""
    span = line.end - line.start
    if span <= 0:
        return 0
    return min(max(int((moment - line.start) / span * width), 0), width - 1)


def moment_of(line: Timeline, cell: int, width: int) -> float:
    """The moment at which a cell begins, Unix seconds."""
    return line.start + (line.end - line.start) * cell / max(width, 1)


def band(line: Timeline, width: int, glyphs: Glyphs) -> list[Cell]:
    """A sign a cell: what weighs most of what is in its share of the time."""
    cells = _density(line, width, glyphs)
    maintenance = "~" if glyphs.ascii_only else "≈"
    for stretch in line.maintenance:
        _fill(cells, line, stretch, (maintenance, "info"))
    silent = "." if glyphs.ascii_only else "░"
    for stretch in line.silences:
        _fill(cells, line, stretch, (silent, "faint"))
    _incidents(cells, line, glyphs)
    return cells


def _density(line: Timeline, width: int, glyphs: Glyphs) -> list[Cell]:
    shares = pooled(line.events, width)
    top = max((share for share in shares if share > 0), default=0)
    levels = glyphs.levels
    return [
        (levels[min(int(share / top * len(levels)), len(levels) - 1)], "dim")
        if share > 0
        else (glyphs.rule, "rule")
        for share in shares
    ]


def _fill(cells: list[Cell], line: Timeline, stretch: Stretch, cell: Cell) -> None:
    """Put a sign over the time from when to when something was; what lies outside is left out."""
    if stretch.end < line.start or stretch.start > line.end:
        return
    first = cell_of(line, stretch.start, len(cells))
    for at in range(first, cell_of(line, stretch.end, len(cells)) + 1):
        cells[at] = cell


def _incidents(cells: list[Cell], line: Timeline, glyphs: Glyphs) -> None:
    """Where one was open a stroke, where it was opened its sign; alerts over what is worth a look."""
    stroke = "=" if glyphs.ascii_only else "━"
    ranked = sorted(line.incidents, key=lambda mark: -LEVELS.index(mark.level))
    for mark in ranked:
        end = line.end if mark.closed is None else mark.closed
        open_from = Stretch(start=mark.opened, end=end)
        _fill(cells, line, open_from, (stroke, _role(mark)))
    for mark in ranked:
        if line.start <= mark.opened <= line.end:
            cells[cell_of(line, mark.opened, len(cells))] = (_sign(mark, glyphs), _role(mark))


_ROLES = {ALERT: "bad", INFO: "dim"}


def _role(mark: Mark) -> str:
    return _ROLES.get(mark.level, "warn")


def _sign(mark: Mark, glyphs: Glyphs) -> str:
    alert = mark.level == ALERT
    return glyphs.states[DeviceState.LOST if alert else DeviceState.DEGRADED]


def with_position(cells: Sequence[Cell], at: int, *, focused: bool) -> Line:
    """The cells as a line, the position marked."""
    role = "cursor" if focused else "cursor_away"
    return [(sign, role if place == at else own) for place, (sign, own) in enumerate(cells)]


def axis(line: Timeline, moment: float, width: int, glyphs: Glyphs) -> Line:
    """First day, the moment below its place, last day; the moment goes before the days."""
    at = cell_of(line, moment, width)
    sign = "^" if glyphs.ascii_only else "▲"
    text = f"{sign} {local_time(moment)}"
    if at + len(text) > width:
        text = f"{local_time(moment)} {sign}"
        left = max(at - len(text) + 1, 0)
    else:
        left = at
    first, last = f" {local_day(line.start)}", f"{local_day(line.end)} "
    right = left + len(text)
    before = fit(first if len(first) < left else "", left)
    after = fit(last if len(last) < width - right else "", width - right, right=True)
    return clipped([(before, "faint"), (text, "accent"), (after, "faint")], width)


def situation(line: Timeline, moment: float, width: int, glyphs: Glyphs) -> Line:
    """What was open at the moment, else what there is in all; what is still being looked for."""
    told: Line = [(" ", "text")]
    now = open_at(line.incidents, moment)
    if now:
        told.append((f"open: {len(now)}  ", "dim"))
        for mark in now[:_MOST_NAMED]:
            text = printable(f"{mark.rule} {mark.node}".strip(), ascii_only=glyphs.ascii_only)
            told.append((f"{_sign(mark, glyphs)} {text}  ", _role(mark)))
    elif line.incidents:
        told.append((_counts(line), "dim"))
    else:
        told.append(("no incidents known  ", "dim"))
    for stretch in line.maintenance:
        if stretch.start <= moment < stretch.end:
            whose = stretch.node or "all nodes"
            text = printable(
                f"maintenance of {whose}: {stretch.text}", ascii_only=glyphs.ascii_only
            )
            told.append((f"{text}  ", "info"))
            break
    if any(stretch.start < moment < stretch.end for stretch in line.silences):
        told.append(("no data  ", "warn"))
    note: Line = [(f"{line.note} ", "faint")] if line.note else []
    room = width - width_of(note)
    return [*clipped(told, room), *note] if room > width // 2 else clipped(told, width)


def _counts(line: Timeline) -> str:
    alerts = sum(mark.level == ALERT for mark in line.incidents)
    infos = sum(mark.level == INFO for mark in line.incidents)
    plural = "" if alerts == 1 else "s"
    recorded = f", {infos} only recorded" if infos else ""
    watches = len(line.incidents) - alerts - infos
    return f"{alerts} alert{plural}, {watches} to watch{recorded}; none open  "


def open_at(marks: Sequence[Mark], moment: float) -> list[Mark]:
    """The incidents that were open at a moment, alerts first, then the newest."""
    begun = bisect.bisect_right(marks, moment, key=lambda mark: mark.opened)
    found = [mark for mark in marks[:begun] if mark.closed is None or mark.closed > moment]
    return sorted(found, key=lambda mark: (LEVELS.index(mark.level), -mark.opened))
