"""A moment of the black box as lines: devices one below the other on one time axis, marks, their list.

Pure; the same for the dashboard and for `accelwatch blackbox show` on a terminal.
"""

import math
from collections.abc import Iterable

from accelwatch.archive.blackbox.marks import Mark
from accelwatch.archive.blackbox.moment import Moment, Track
from accelwatch.exposition.display import printable, quantity
from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import SEVERITIES
from accelwatch.tui.drawing.device_signs import STATE_ROLES
from accelwatch.tui.drawing.format import clock_time
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, fit, paragraph
from accelwatch.tui.drawing.plot import graph

_LABEL = 21
"""Cells before the time axis: name and quantity."""
_VALUE = 8
"""Cells behind it: the greatest value."""
_LEAST_AXIS = 16
_ROWS = {
    "utilization_ratio": ("load", "plot0"),
    "memory_ratio": ("memory", "plot1"),
    "power_watts": ("power", "plot2"),
    "temperature_celsius": ("temp", "plot3"),
}
"""Key to what it is called and the role it is drawn in, the same as in the graphs of other screens."""
_OF_OTHERS = ("utilization_ratio", "power_watts")
"""What is shown of a device that it is not about."""
_UNITS = {"memory_ratio": "utilization_ratio"}
_SEVERITY_ROLES = {"critical": "bad", "warning": "warn", "info": "info"}
_RANK = ("start", "end", "event", "kernel", "state")
_SIGNS = {"start": "+", "end": "-", "event": "!", "kernel": "k", "state": "s"}
_KIND_WORDS = {"start": "began", "end": "ended", "kernel": "kernel", "event": "event"}


class _Axis:
    """From times to cells."""

    def __init__(self, moment: Moment, width: int) -> None:
        self.width = max(width - _LABEL - _VALUE - 1, _LEAST_AXIS)
        self.first = moment.times[0] if moment.times else moment.at
        last = moment.times[-1] if moment.times else moment.at
        self.span = max(last - self.first, 1.0)
        self.last = self.first + self.span
        self.cells = [self.cell(time) for time in moment.times]

    def cell(self, time: float) -> int:
        place = int((time - self.first) / self.span * self.width)
        return min(max(place, 0), self.width - 1)

    def greatest(self, values: Iterable[float]) -> list[float]:
        """The greatest value of each cell; a cell without a document has that of the one before."""
        given = [math.nan] * self.width
        filled = [False] * self.width
        for cell, value in zip(self.cells, values, strict=True):
            filled[cell] = True
            if math.isnan(given[cell]) or value > given[cell]:
                given[cell] = value
        for cell in range(1, self.width):
            if not filled[cell]:
                given[cell] = given[cell - 1]
        return given

    def latest(self, states: Iterable[str]) -> list[str]:
        """The last state of each cell; a cell without a document has that of the one before."""
        given = [""] * self.width
        filled = [False] * self.width
        for cell, state in zip(self.cells, states, strict=True):
            given[cell], filled[cell] = state, True
        for cell in range(1, self.width):
            if not filled[cell]:
                given[cell] = given[cell - 1]
        return given


def lines(moment: Moment, width: int, glyphs: Glyphs) -> list[Line]:
    """All of it, in `width` cells."""
    axis = _Axis(moment, width)
    given = [_title(moment, width, glyphs), [], _times(moment, axis, width, glyphs)]
    given.append(_marks_row(moment, axis, width, glyphs))
    for track in moment.tracks:
        given += _device(moment, track, axis, width, glyphs)
    given += [[], [(" What happened", "head")]]
    given += _list(moment, width, glyphs)
    given += [line for note in moment.notes for line in paragraph(" ", note, "dim", width, glyphs)]
    return given


def about(moment: Moment) -> str:
    """What the moment is about, in words: the worst that was told of it at its time."""
    near = [
        mark
        for mark in moment.marks
        if abs(mark.time - moment.at) <= 2.0
        and (not moment.device_id or moment.device_id in mark.device_ids)
    ]
    own = [mark for mark in near if mark.severity == "critical"] or near
    name = next((one.name for one in moment.tracks if one.id == moment.device_id), "")
    who = name or ", ".join(own[0].devices if own else ()) or "this machine"
    states_first = sorted(own, key=lambda mark: mark.kind != "state")
    words = dict.fromkeys(mark.code or mark.text for mark in states_first)
    return " ".join([who, ", ".join(words)]).rstrip()


def _title(moment: Moment, width: int, glyphs: Glyphs) -> Line:
    text = printable(about(moment), ascii_only=glyphs.ascii_only)
    host = printable(moment.host, ascii_only=glyphs.ascii_only)
    return clipped(
        [(f" {text}", "strong"), (f"  at {clock_time(moment.at)} on {host}", "dim")], width
    )


def _times(moment: Moment, axis: _Axis, width: int, glyphs: Glyphs) -> Line:
    """First time, the moment below its place, last time."""
    at = axis.cell(moment.at)
    first, last = clock_time(axis.first), clock_time(axis.last)
    now = f"{glyphs.down} {clock_time(moment.at)}"
    if at + len(now) > axis.width:
        now = f"{clock_time(moment.at)} {glyphs.down}"
        at = at - len(now) + 1
    before = fit(first if len(first) < at else "", max(at, 0))
    room = axis.width - len(before) - len(now)
    after = fit(last if len(last) < room else "", room, right=True)
    return clipped(
        [(" " * _LABEL, "text"), (before, "faint"), (now, "accent"), (after, "faint")], width
    )


def _marks_row(moment: Moment, axis: _Axis, width: int, glyphs: Glyphs) -> Line:
    """A sign where something happened; of several in one cell what weighs most."""
    cells: list[tuple[str, str]] = [(glyphs.rule, "rule")] * axis.width
    for mark in sorted(moment.marks, key=_weight):
        if axis.first <= mark.time <= axis.last:
            cells[axis.cell(mark.time)] = _sign(mark, glyphs), _SEVERITY_ROLES[mark.severity]
    return clipped([(fit(" marks", _LABEL), "dim"), *cells], width)


def _weight(mark: Mark) -> tuple[int, int]:
    return -SEVERITIES.index(mark.severity), _RANK.index(mark.kind)


def _sign(mark: Mark, glyphs: Glyphs) -> str:
    if mark.kind == "state":
        return glyphs.states.get(mark.code, _SIGNS["state"])
    return _SIGNS[mark.kind]


def _device(moment: Moment, track: Track, axis: _Axis, width: int, glyphs: Glyphs) -> list[Line]:
    """The rows of one device; over each a broken time stands out."""
    own = track.id == moment.device_id
    keys = tuple(_ROWS) if own else _OF_OTHERS
    name = printable(track.name, ascii_only=glyphs.ascii_only)
    given: list[Line] = [[]] if own else []
    shown = [key for key in keys if any(value == value for value in track.values[key])]  # noqa: PLR0124 - NaN
    for place, key in enumerate(shown or keys[:1]):
        title, role = _ROWS[key]
        label = fit(f" {name if not place else ''}", _LABEL - 8) + fit(title, 8)
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
        given.append(
            clipped([(label, label_role), *cells, (fit(text, _VALUE, right=True), "dim")], width)
        )
    return given


def _broken(cells: list[tuple[str, str]], track: Track, axis: _Axis, glyphs: Glyphs) -> None:
    """Put the sign of the state where the device was not well and has no value."""
    for cell, state in enumerate(axis.latest(track.states)):
        if state != "ok" and state in STATE_ROLES and cells[cell][0] == " ":
            known = DeviceState(state)
            cells[cell] = glyphs.states[known], STATE_ROLES[known]


def _list(moment: Moment, width: int, glyphs: Glyphs) -> list[Line]:
    """Each mark: when, how long before or after, what."""
    given: list[Line] = []
    for mark in moment.marks:
        offset = f"{mark.time - moment.at:+.0f} s".replace("-0 s", "0 s").replace("+0 s", "0 s")
        devices = f"{', '.join(mark.devices)} " if mark.devices else ""
        kind = _KIND_WORDS.get(mark.kind, "")
        head = f" {clock_time(mark.time)} {offset:>7}  {_sign(mark, glyphs)} "
        text = f"{devices}{kind + ' ' if kind else ''}{mark.text}"
        role = _SEVERITY_ROLES[mark.severity]
        given += paragraph(head, text, role if mark.severity != "info" else "text", width, glyphs)
    return given or [[(" no events in this window", "dim")]]
