"""Events of the fleet as lines. Pure."""

from collections.abc import Sequence

from accelwatch.fleet.picture.model import MOST_EVENTS
from accelwatch.fleet.wire import FleetEvent
from accelwatch.schema.display import printable
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, fit, width_of
from accelwatch.tui.drawing.node_names import NONE, CommonAffixes, shortened
from accelwatch.tui.drawing.severity_signs import severity_role, severity_sign
from accelwatch.tui.events.fleet_changes import event_label

RECENT_S = 3600.0
# From this width categories have a column.
_CATEGORIES = 130
_DAY_S = 86_400.0


def event_heading(count: int, width: int, glyphs: Glyphs) -> Line:
    """The line that parts events from nodes."""
    title = f" {count} event{'' if count == 1 else 's'}, newest first "
    if not count:
        title = " no events "
    if count >= MOST_EVENTS:
        title = f" the last {count} events, newest first "
    return clipped([(glyphs.rule, "rule"), (title, "head"), (glyphs.rule * width, "rule")], width)


def event_line(
    event: FleetEvent, width: int, now: float, glyphs: Glyphs, affixes: CommonAffixes = NONE
) -> Line:
    """When, how grave, where, what; `affixes` is what the names of nodes have in common."""

    def cut(text: str, cells: int) -> str:
        shown = printable(text, ascii_only=glyphs.ascii_only)
        return fit(shown, cells, ellipsis=glyphs.ellipsis)

    role, sign = severity_role(event.severity), severity_sign(event.severity, glyphs)
    wide = width >= 100
    room = 20 if wide else 16
    device = f" {event.name}" if event.name else ""
    where = shortened(event.node, max(room - len(device), 6), affixes, glyphs.ellipsis) + device
    when = fmt.ago(max(now - event.time, 0.0)) if width < 60 else time_label(event.time, now)
    line: Line = [(f" {fit(when, 6 if width < 60 else 8)}  ", "dim")]
    line.append((cut(f"{sign} {event.severity}", 10) if wide else sign, role))
    line += [("  ", "text"), (cut(where, room), "strong"), ("  ", "text")]
    label = event_label(event.code)
    cells = min(max(14 if wide else 9, len(label)), width - width_of(line))
    line += [(cut(label, cells), role), ("  ", "text")]
    if width >= _CATEGORIES:
        line += [(cut(event.category.replace("_", " "), 16), "dim"), ("  ", "text")]
    doubt = "" if event.trusted else " (written by user space)"
    left = width - width_of(line)
    return clipped([*line, (cut(event.text + doubt, max(left, 0)), "text")], width)


def time_label(time: float, now: float) -> str:
    """The time of day; of another day how long ago."""
    return fmt.clock_time(time) if now - time < _DAY_S else fmt.ago(now - time)


def recent(events: Sequence[FleetEvent], now: float) -> int:
    """Events of the last hour."""
    count = 0
    for event in reversed(events):
        if now - event.time > RECENT_S:
            break
        count += 1
    return count
