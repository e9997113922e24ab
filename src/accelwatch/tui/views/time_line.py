"""The whole span of a recorded fleet on one line: events, incidents, maintenance, silence, the position.

Pure. Below it the dates in the user's zone, and what was open at the moment.
"""

import bisect
from collections.abc import Sequence
from datetime import datetime

from accelwatch.fleet.picture.timeline import (
    ALERT,
    INFO,
    LEVELS,
    Marker,
    Playback,
    Stretch,
    Timeline,
)
from accelwatch.schema.device import DeviceState
from accelwatch.schema.display import printable
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, fit, width_of
from accelwatch.tui.drawing.plot import pooled

_MOST_NAMED = 3
# A sign and its role.
Cell = tuple[str, str]


def local_time(timestamp: float) -> str:
    """`2026-03-14 10:32:05 CET`."""
    return datetime.fromtimestamp(timestamp).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def local_day(timestamp: float) -> str:
    """`2026-03-14`."""
    return datetime.fromtimestamp(timestamp).astimezone().strftime("%Y-%m-%d")


def banner(playback: Playback, glyphs: Glyphs) -> str:
    """How it plays and where it is, for the header of any screen."""
    state = (
        "ended"
        if playback.is_finished
        else f"{playback.speed:g}x"
        if playback.playing
        else "stopped"
    )
    if not glyphs.ascii_only:
        state = f"{'▶' if playback.playing and not playback.is_finished else '■'} {state}"
    loop = ", loop" if playback.loop else ""
    return f"{state}{loop} {local_time(playback.time)}"


def cell_of(line: Timeline, timestamp: float, width: int) -> int:
    """The cell that a moment is in."""
    span = line.end - line.start
    if span <= 0:
        return 0
    return min(max(int((timestamp - line.start) / span * width), 0), width - 1)


def time_at_cell(line: Timeline, cell: int, width: int) -> float:
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
    ranked = sorted(line.incidents, key=lambda incident: -LEVELS.index(incident.level))
    for incident in ranked:
        end = line.end if incident.closed is None else incident.closed
        open_from = Stretch(start=incident.opened, end=end)
        _fill(cells, line, open_from, (stroke, _role(incident)))
    for incident in ranked:
        if line.start <= incident.opened <= line.end:
            cells[cell_of(line, incident.opened, len(cells))] = (
                _sign(incident, glyphs),
                _role(incident),
            )


_ROLES = {ALERT: "bad", INFO: "dim"}


def _role(incident: Marker) -> str:
    return _ROLES.get(incident.level, "warn")


def _sign(incident: Marker, glyphs: Glyphs) -> str:
    alert = incident.level == ALERT
    return glyphs.states[DeviceState.LOST if alert else DeviceState.DEGRADED]


def with_position(cells: Sequence[Cell], at: int, *, focused: bool) -> Line:
    """The cells as a line, the position marked."""
    role = "cursor" if focused else "cursor_away"
    return [(sign, role if index == at else own) for index, (sign, own) in enumerate(cells)]


def axis(line: Timeline, timestamp: float, width: int, glyphs: Glyphs) -> Line:
    """First day, the moment below its mark, last day; the moment goes before the days."""
    at = cell_of(line, timestamp, width)
    sign = "^" if glyphs.ascii_only else "▲"
    text = f"{sign} {local_time(timestamp)}"
    if at + len(text) > width:
        text = f"{local_time(timestamp)} {sign}"
        left = max(at - len(text) + 1, 0)
    else:
        left = at
    first, last = f" {local_day(line.start)}", f"{local_day(line.end)} "
    right = left + len(text)
    before = fit(first if len(first) < left else "", left)
    after = fit(last if len(last) < width - right else "", width - right, right=True)
    return clipped([(before, "faint"), (text, "accent"), (after, "faint")], width)


def situation(line: Timeline, timestamp: float, width: int, glyphs: Glyphs) -> Line:
    """What was open at the time, else the totals; what is still being searched."""
    spans: Line = [(" ", "text")]
    now = open_at(line.incidents, timestamp)
    if now:
        spans.append((f"open: {len(now)}  ", "dim"))
        for incident in now[:_MOST_NAMED]:
            text = printable(
                f"{incident.rule} {incident.node}".strip(), ascii_only=glyphs.ascii_only
            )
            spans.append((f"{_sign(incident, glyphs)} {text}  ", _role(incident)))
    elif line.incidents:
        spans.append((_counts(line), "dim"))
    else:
        spans.append(("no incidents known  ", "dim"))
    for stretch in line.maintenance:
        if stretch.start <= timestamp < stretch.end:
            whose = stretch.node or "all nodes"
            text = printable(
                f"maintenance of {whose}: {stretch.text}", ascii_only=glyphs.ascii_only
            )
            spans.append((f"{text}  ", "info"))
            break
    if any(stretch.start < timestamp < stretch.end for stretch in line.silences):
        spans.append(("no data  ", "warn"))
    note: Line = [(f"{line.note} ", "faint")] if line.note else []
    room = width - width_of(note)
    return [*clipped(spans, room), *note] if room > width // 2 else clipped(spans, width)


def _counts(line: Timeline) -> str:
    alerts = sum(incident.level == ALERT for incident in line.incidents)
    infos = sum(incident.level == INFO for incident in line.incidents)
    plural = "" if alerts == 1 else "s"
    recorded = f", {infos} only recorded" if infos else ""
    watches = len(line.incidents) - alerts - infos
    return f"{alerts} alert{plural}, {watches} to watch{recorded}; none open  "


def open_at(incidents: Sequence[Marker], timestamp: float) -> list[Marker]:
    """The incidents that were open at a moment, alerts first, then the newest."""
    opened_count = bisect.bisect_right(incidents, timestamp, key=lambda incident: incident.opened)
    open_incidents = [
        incident
        for incident in incidents[:opened_count]
        if incident.closed is None or incident.closed > timestamp
    ]
    return sorted(
        open_incidents, key=lambda incident: (LEVELS.index(incident.level), -incident.opened)
    )
