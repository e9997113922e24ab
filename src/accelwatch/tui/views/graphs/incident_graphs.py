"""The past of what an incident rests on as small graphs, its beginning marked; or why none. Pure."""

import math
from collections.abc import Sequence
from functools import partial

import msgspec

from accelwatch.alerting.evaluation.documents import IncidentDocument
from accelwatch.expr.vocabulary.detector_names import DETECTOR
from accelwatch.fleet.documents.graphs import IncidentGraphs
from accelwatch.fleet.picture.incidents import seconds_of
from accelwatch.fleet.picture.model import RecentHistory
from accelwatch.schema.display import quantity
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.lines import Line, clipped, spread, width_of
from accelwatch.tui.state.board import Board
from accelwatch.tui.views.graphs.band_graphs import band_strip
from accelwatch.tui.views.graphs.device_graphs import Graph, side_by_side, without_nan
from accelwatch.tui.views.graphs.start_marker import start_marker

# Cells a graph needs.
_LEAST = 28
# What is drawn beside the evidence where there is room: it shows what happened to the work.
_BESIDE = ("utilization_ratio", "power_watts", "temperature_celsius.gpu")
_ROLES = ("plot0", "plot1", "plot2", "plot3")
_NO_NUMBER = "not a number"
_NO_HISTORY = "no history is kept of it"


class IncidentHistory(msgspec.Struct, frozen=True, kw_only=True):
    """The recent history of the device of an incident."""

    # Whether the hub has answered.
    was_requested: bool = False
    device: RecentHistory | None = None
    # The same beside its peers; None where nobody makes such graphs.
    graphs: IncidentGraphs | None = None


def signals(incident: IncidentDocument) -> list[str]:
    """What the evidence is about, each once."""
    return list(dict.fromkeys(note.signal for note in incident.evidence if note.signal))


def drawable(incident: IncidentDocument, incident_history: IncidentHistory) -> list[str]:
    """The series that can be drawn: of the evidence first, then what is worth seeing beside it."""
    history = incident_history.device
    if incident_history.graphs is not None:
        return [graph.name for graph in incident_history.graphs.graphs]
    if history is None:
        return []
    paths = dict.fromkeys((*signals(incident), *_BESIDE))
    return [path for path in paths if _values(history, path)]


def reasons(incident: IncidentDocument, incident_history: IncidentHistory) -> list[str]:
    """Why there is no graph of something that the incident rests on."""
    if incident_history.graphs is not None:
        return _notes(incident, incident_history.graphs)
    if not incident.device:
        what = "a group" if incident.group else f"a {incident.scope}"
        return [f"no graph: history is kept of devices, and this is about {what}"]
    if not incident_history.was_requested:
        return []
    if incident_history.device is None:
        return ["no graph: no history of this device in the last 15 min"]
    history = incident_history.device
    numbers = {note.signal for note in incident.evidence if isinstance(note.value, int | float)}
    messages = [
        f"no graph of {signal}: {_NO_HISTORY if signal in numbers else _NO_NUMBER}"
        for signal in signals(incident)
        if not _values(history, signal)
    ]
    if seconds_of(incident.since) < _start_of(history):
        messages.append(f"it began before the last {_span(history)}, which graphs show")
    return messages


def _notes(incident: IncidentDocument, graphs: IncidentGraphs) -> list[str]:
    """What the hub says, and which of the evidence is no number."""
    reported = [*graphs.notes, *(graph.name for graph in graphs.graphs)]
    # The sentence of a finding, and the causes that it names, are no signals of a device.
    of_findings = {note.signal for note in incident.evidence if note.source.startswith(DETECTOR)}
    messages = [
        f"no graph of {signal}: {_NO_NUMBER}"
        for signal in signals(incident)
        if signal not in of_findings
        and graphs.line
        and not any(_same(signal, text) for text in reported)
    ]
    return [*graphs.notes, *messages]


def _same(signal: str, text: str) -> bool:
    """Whether a note or the name of a graph is about a signal."""
    return signal in text or text.partition(".")[0] in signal


def _span(history: RecentHistory) -> str:
    """`15 min`; `40 s` where there is less than a minute."""
    seconds = history.end - _start_of(history)
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.0f} s"


def _start_of(history: RecentHistory) -> float:
    steps = max((len(values) for values in history.values.values()), default=0)
    return history.end - steps * history.step_s


def _expected_range(history: RecentHistory, paths: list[str]) -> RecentHistory:
    """The past of some series from where the first of them is known."""
    lines = {path: _steps(history, path) for path in paths}
    starts = (next(n for n, step in enumerate(line) if step is not None) for line in lines.values())
    first = min(starts)
    return msgspec.structs.replace(
        history, values={path: line[first:] for path, line in lines.items()}
    )


def _steps(history: RecentHistory, path: str) -> Sequence[float | None]:
    return history.values.get(path) or history.growth.get(path, ())


def _values(history: RecentHistory, path: str) -> list[float]:
    """The steps of a series, NaN where there is no value; nothing when there is none at all."""
    values = [math.nan if step is None else float(step) for step in _steps(history, path)]
    return values if without_nan(values) else []


def incident_strip(
    board: Board,
    incident: IncidentDocument,
    incident_history: IncidentHistory,
    width: int,
    height: int,
) -> list[Line]:
    """A title, as many graphs as fit, and below each a mark where it began."""
    if incident_history.graphs is not None:
        is_closed = incident.closed is not None
        return band_strip(board, incident_history.graphs, width, height, is_closed=is_closed)
    paths = drawable(incident, incident_history)[: min(max((width - 1) // _LEAST, 1), len(_ROLES))]
    if not paths or incident_history.device is None or height < 4:
        return []
    history = _expected_range(incident_history.device, paths)
    graphs = [_graph(incident, history, path, index) for index, path in enumerate(paths)]
    drawn = side_by_side(board, graphs, width, height - 2)
    return [
        _title(board, incident, history, width),
        *drawn,
        _marker_line(board, incident, history, (width, len(graphs))),
    ]


def _graph(incident: IncidentDocument, history: RecentHistory, path: str, index: int) -> Graph:
    values = _values(history, path)
    expected = [
        float(note.expected)
        for note in incident.evidence
        if note.signal == path and isinstance(note.expected, int | float)
    ]
    last = values[-1]
    top = max(1.0 if path.endswith("_ratio") else 0.0, *without_nan(values), *expected)
    return Graph(
        title=path.partition(".")[0].rpartition("_")[0] or path,
        role=_ROLES[index],
        values=values,
        top=top or 1.0,
        now=None if math.isnan(last) else last,
        write=partial(_written, path, grows=path in history.growth),
    )


def _written(path: str, value: float, *, grows: bool) -> str:
    """A value as people see it; of seconds that have grown in a second their share."""
    if not grows:
        share = path.partition(".")[0].endswith("_ratio")
        return fmt.percent(value) if share else quantity(path, value)
    if path.partition(".")[0].endswith("_seconds_total"):
        return fmt.percent(value)
    return f"{quantity(path, float(value))}/s"


def _title(board: Board, incident: IncidentDocument, history: RecentHistory, width: int) -> Line:
    glyphs = board.paint.glyphs
    span = f" last {_span(history)} "
    left: Line = [(f"{glyphs.rule} ", "rule"), (incident.device_name, "strong"), (" ", "text")]
    fill = max(width - width_of(left) - len(span) - 1, 0)
    right: Line = [(span, "dim"), (glyphs.rule, "rule")]
    return clipped(spread([*left, (glyphs.rule * fill, "rule")], right, width), width)


def _marker_line(
    board: Board, incident: IncidentDocument, history: RecentHistory, shape: tuple[int, int]
) -> Line:
    """Where it began, below each graph; `shape` is the width and how many graphs there are."""
    width, count = shape
    each = (width - 1) // count
    glyphs = board.paint.glyphs
    since, span = seconds_of(incident.since), (_start_of(history), history.end)
    line: Line = [(" ", "text")]
    for _ in range(count):
        line += [(start_marker(since, span, each - 2, glyphs.up), "warn"), ("  ", "text")]
    return clipped(line, width)
