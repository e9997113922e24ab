"""What happens next in a demonstration, and what has just happened, in a line. Pure."""

from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, width_of
from accelwatch.tui.fleet.board import FleetBoard

# How long an event is announced as new.
_FRESH_S = 5.0
# This long after the last event the keys are shown once more.
_AFTER_S = 30.0
_KEY_HINTS = (("x", "goes there"), ("w", "says why"), ("m", "map"))


def announcement(fleet: FleetBoard, now: float, width: int, glyphs: Glyphs) -> Line:
    """`in 8 s a device falls off the bus`; empty outside a demonstration, and when all is over."""
    events = fleet.demo_events
    if not events or now > events[-1][0] + _AFTER_S:
        return []
    coming = next(((at, text) for at, text in events if at > now), None)
    passed = [text for at, text in events if now - _FRESH_S < at <= now]
    line: Line = [(" demo ", "cursor"), (" ", "text")]
    if passed:
        line += [(f"now: {passed[-1]}", "warn"), (f"  {glyphs.dot}  ", "faint")]
    if coming is not None and not passed:
        line += [
            (f"in {coming[0] - now:.0f} s {coming[1]}", "strong"),
            (f"  {glyphs.dot}  ", "faint"),
        ]
    for key, what in _KEY_HINTS:
        shown: Line = [(key, "key"), (f" {what}  ", "dim")]
        if width_of([*line, *shown]) - 2 > width:  # its own gap may fall off the edge
            break
        line += shown
    return clipped(line, width)
