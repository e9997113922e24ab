"""A moment of the black box as lines: devices one below the other on one time axis, marks, their list.

Pure; the same for the dashboard and for `accelwatch blackbox show` on a terminal.
"""

import math
from collections.abc import Iterable

from accelwatch.archive.blackbox.excerpt import Excerpt, Track
from accelwatch.archive.blackbox.markers import Marker
from accelwatch.schema.device import DeviceState
from accelwatch.schema.display import printable, quantity
from accelwatch.schema.event import SEVERITIES
from accelwatch.tui.drawing.device_signs import STATE_ROLES
from accelwatch.tui.drawing.format import clock_time
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, fit, paragraph
from accelwatch.tui.drawing.plot import graph

# Cells before the time axis: name and quantity.
_LABEL = 21
# Cells behind it: the greatest value.
_VALUE = 8
_LEAST_AXIS = 16
# Key to what it is called and the role it is drawn in, the same as in the graphs of other screens.
_ROWS = {
    "utilization_ratio": ("load", "plot0"),
    "memory_ratio": ("memory", "plot1"),
    "power_watts": ("power", "plot2"),
    "temperature_celsius": ("temp", "plot3"),
}
# What is shown of a device that it is not about.
_OF_OTHERS = ("utilization_ratio", "power_watts")
_UNITS = {"memory_ratio": "utilization_ratio"}
_SEVERITY_ROLES = {"critical": "bad", "warning": "warn", "info": "info"}
_RANK = ("start", "end", "event", "kernel", "state")
_SIGNS = {"start": "+", "end": "-", "event": "!", "kernel": "k", "state": "s"}
_KIND_LABELS = {"start": "began", "end": "ended", "kernel": "kernel", "event": "event"}


class _Axis:
    """From times to cells."""

    def __init__(self, excerpt: Excerpt, width: int) -> None:
        self.width = max(width - _LABEL - _VALUE - 1, _LEAST_AXIS)
        self.first = excerpt.times[0] if excerpt.times else excerpt.at
        last = excerpt.times[-1] if excerpt.times else excerpt.at
        self.span = max(last - self.first, 1.0)
        self.last = self.first + self.span
        self.cells = [self.cell(time) for time in excerpt.times]

    def cell(self, time: float) -> int:
        column = int((time - self.first) / self.span * self.width)
        return min(max(column, 0), self.width - 1)

    def greatest(self, values: Iterable[float]) -> list[float]:
        """The greatest value of each cell; a cell without a document has that of the one before."""
        result = [math.nan] * self.width
        filled = [False] * self.width
        for cell, value in zip(self.cells, values, strict=True):
            filled[cell] = True
            if math.isnan(result[cell]) or value > result[cell]:
                result[cell] = value
        for cell in range(1, self.width):
            if not filled[cell]:
                result[cell] = result[cell - 1]
        return result

    def latest(self, states: Iterable[str]) -> list[str]:
        """The last state of each cell; a cell without a document has that of the one before."""
        result = [""] * self.width
        filled = [False] * self.width
        for cell, state in zip(self.cells, states, strict=True):
            result[cell], filled[cell] = state, True
        for cell in range(1, self.width):
            if not filled[cell]:
                result[cell] = result[cell - 1]
        return result


def lines(excerpt: Excerpt, width: int, glyphs: Glyphs) -> list[Line]:
    """All of it, in `width` cells."""
    axis = _Axis(excerpt, width)
    result = [_title(excerpt, width, glyphs), [], _times(excerpt, axis, width, glyphs)]
    result.append(_markers_row(excerpt, axis, width, glyphs))
    for track in excerpt.tracks:
        result += _device(excerpt, track, axis, width, glyphs)
    result += [[], [(" What happened", "head")]]
    result += _list(excerpt, width, glyphs)
    result += [
        line for note in excerpt.notes for line in paragraph(" ", note, "dim", width, glyphs)
    ]
    return result


def about(excerpt: Excerpt) -> str:
    """What the moment is about, in words: the worst event that was reported at its time."""
    near = [
        marker
        for marker in excerpt.markers
        if abs(marker.time - excerpt.at) <= 2.0
        and (not excerpt.device_id or excerpt.device_id in marker.device_ids)
    ]
    own = [marker for marker in near if marker.severity == "critical"] or near
    name = next((track.name for track in excerpt.tracks if track.id == excerpt.device_id), "")
    who = name or ", ".join(own[0].devices if own else ()) or "this machine"
    states_first = sorted(own, key=lambda marker: marker.kind != "state")
    codes = dict.fromkeys(marker.code or marker.text for marker in states_first)
    return " ".join([who, ", ".join(codes)]).rstrip()


def _title(excerpt: Excerpt, width: int, glyphs: Glyphs) -> Line:
    text = printable(about(excerpt), ascii_only=glyphs.ascii_only)
    host = printable(excerpt.host, ascii_only=glyphs.ascii_only)
    return clipped(
        [(f" {text}", "strong"), (f"  at {clock_time(excerpt.at)} on {host}", "dim")], width
    )


def _times(excerpt: Excerpt, axis: _Axis, width: int, glyphs: Glyphs) -> Line:
    """First time, the moment below its mark, last time."""
    at = axis.cell(excerpt.at)
    first, last = clock_time(axis.first), clock_time(axis.last)
    now = f"{glyphs.down} {clock_time(excerpt.at)}"
    if at + len(now) > axis.width:
        now = f"{clock_time(excerpt.at)} {glyphs.down}"
        at = at - len(now) + 1
    before = fit(first if len(first) < at else "", max(at, 0))
    room = axis.width - len(before) - len(now)
    after = fit(last if len(last) < room else "", room, right=True)
    return clipped(
        [(" " * _LABEL, "text"), (before, "faint"), (now, "accent"), (after, "faint")], width
    )


def _markers_row(excerpt: Excerpt, axis: _Axis, width: int, glyphs: Glyphs) -> Line:
    """A sign where something happened; of several in one cell what weighs most."""
    cells: list[tuple[str, str]] = [(glyphs.rule, "rule")] * axis.width
    for marker in sorted(excerpt.markers, key=_weight):
        if axis.first <= marker.time <= axis.last:
            cells[axis.cell(marker.time)] = _sign(marker, glyphs), _SEVERITY_ROLES[marker.severity]
    return clipped([(fit(" marks", _LABEL), "dim"), *cells], width)


def _weight(marker: Marker) -> tuple[int, int]:
    return -SEVERITIES.index(marker.severity), _RANK.index(marker.kind)


def _sign(marker: Marker, glyphs: Glyphs) -> str:
    if marker.kind == "state":
        return glyphs.states.get(marker.code, _SIGNS["state"])
    return _SIGNS[marker.kind]


def _device(excerpt: Excerpt, track: Track, axis: _Axis, width: int, glyphs: Glyphs) -> list[Line]:
    """The rows of one device; over each a broken time stands out."""
    own = track.id == excerpt.device_id
    keys = tuple(_ROWS) if own else _OF_OTHERS
    name = printable(track.name, ascii_only=glyphs.ascii_only)
    result: list[Line] = [[]] if own else []
    shown = [key for key in keys if any(value == value for value in track.values[key])]  # noqa: PLR0124 - NaN
    for index, key in enumerate(shown or keys[:1]):
        title, role = _ROWS[key]
        label = fit(f" {name if not index else ''}", _LABEL - 8) + fit(title, 8)
        values = axis.greatest(track.values[key])
        most = max((value for value in values if value == value), default=math.nan)  # noqa: PLR0124
        top = 1.0 if key.endswith("_ratio") else most * 1.1
        (drawn,) = graph(values, axis.width, 1, top, "ascii" if glyphs.ascii_only else "block")
        cells = [(sign, role) for sign in drawn]
        _broken(cells, track, axis, glyphs)
        text = (
            "-"
            if math.isnan(most)
            else quantity(_UNITS.get(key, key), most, ascii_only=glyphs.ascii_only)
        )
        label_role = "strong" if own else "text"
        result.append(
            clipped([(label, label_role), *cells, (fit(text, _VALUE, right=True), "dim")], width)
        )
    return result


def _broken(cells: list[tuple[str, str]], track: Track, axis: _Axis, glyphs: Glyphs) -> None:
    """Put the sign of the state where the device was not well and has no value."""
    for cell, state in enumerate(axis.latest(track.states)):
        if state != "ok" and state in STATE_ROLES and cells[cell][0] == " ":
            device_state = DeviceState(state)
            cells[cell] = glyphs.states[device_state], STATE_ROLES[device_state]


def _list(excerpt: Excerpt, width: int, glyphs: Glyphs) -> list[Line]:
    """Each mark: when, how long before or after, what."""
    result: list[Line] = []
    for marker in excerpt.markers:
        offset = f"{marker.time - excerpt.at:+.0f} s".replace("-0 s", "0 s").replace("+0 s", "0 s")
        devices = f"{', '.join(marker.devices)} " if marker.devices else ""
        kind = _KIND_LABELS.get(marker.kind, "")
        head = f" {clock_time(marker.time)} {offset:>7}  {_sign(marker, glyphs)} "
        text = f"{devices}{kind + ' ' if kind else ''}{marker.text}"
        role = _SEVERITY_ROLES[marker.severity]
        result += paragraph(
            head, text, role if marker.severity != "info" else "text", width, glyphs
        )
    return result or [[(" no events in this window", "dim")]]
