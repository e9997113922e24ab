"""The graphs of an incident in words, and how high they are: the same in browser and terminal. Pure."""

from collections.abc import Sequence
from datetime import UTC, datetime

from accelwatch.fleet.documents.graphs import IncidentGraphs, Line, QuantityGraph
from accelwatch.schema.display import quantity
from accelwatch.schema.timestamps import unix_seconds

# Share of its level that an axis spans at least: noise of a percent does not fill the picture, and a
# device that is 5 percent off, the least that the detector is to find, is a quarter of its height off.
_LEAST_SPAN = 0.2
# A value that is not older counts as the present one: the last step is still open, and samples of what
# the history does not have come every 30 s.
_STILL_NOW_S = 45.0


def start_of(graphs: IncidentGraphs) -> float:
    """Unix seconds at which the first step begins. Raises WireError."""
    steps = max((len(graph.values) for graph in graphs.graphs), default=0)
    return unix_seconds(graphs.end) - steps * graphs.step_s


def bounds(graph: QuantityGraph) -> tuple[float, float]:
    """The least and the greatest number of the axis; different ones, whatever is drawn."""
    lines = (graph.values, graph.lower_quartile, graph.upper_quartile)
    present = [value for line in lines for value in line if value is not None]
    if not present:
        return 0.0, 1.0
    low, high = min(present), max(present)
    if 0.0 <= low < 0.5 * high:
        low = 0.0
    missing = _LEAST_SPAN * max(abs(low), abs(high)) - (high - low)
    if missing > 0.0:
        top = high + missing / 2
        if graph.unit == "ratio" and high <= 1.0:
            top = min(top, 1.0)
        return top - (high - low) - missing, top
    return (low, high) if high > low else (low - 1.0, high + 1.0)


def value_text(graph: QuantityGraph, value: float, *, ascii_only: bool = False) -> str:
    """A value as people see it; of seconds that grow in a second their share."""
    if graph.rate and graph.unit == "seconds":
        return f"{value:.0%}"
    return quantity(graph.name, float(value), ascii_only=ascii_only) + ("/s" if graph.rate else "")


def caption(graphs: IncidentGraphs, graph: QuantityGraph, *, ascii_only: bool = False) -> str:
    """What the picture shows, for those who do not see it. Raises WireError."""

    def written(value: float) -> str:
        return value_text(graph, value, ascii_only=ascii_only)

    at = _last(graph.values)
    text = f"{graphs.line}: no value"
    if at is not None:
        value = written(graph.values[at] or 0.0)
        text = f"{graphs.line}: {value}{_when(graphs, graph, at, over=bool(graph.absent))}"
    if graph.absent:
        text += f" ({graph.absent})"
    at = _last(graph.median)
    if at is None or not graph.peers:
        return f"{text}; no peers to compare with"
    low, middle, high = (
        written(line[at] or 0.0)
        for line in (graph.lower_quartile, graph.median, graph.upper_quartile)
    )
    band = graphs.band if graph.peers != 1 else graphs.band.replace("devices", "device", 1)
    spread = "" if low == high else f", half of them {low} to {high}"
    return f"{text}; {graph.peers} {band}: {middle}{spread}{_when(graphs, graph, at)}"


def captions(graphs: IncidentGraphs) -> list[str]:
    """Those of the evidence, each with what it is of. Raises WireError."""
    return [f"{graph.title}: {caption(graphs, graph)}" for graph in graphs.main]


def _last(line: Line) -> int | None:
    """The newest step with a value."""
    return next((at for at in range(len(line) - 1, -1, -1) if line[at] is not None), None)


def _when(graphs: IncidentGraphs, graph: QuantityGraph, at: int, *, over: bool = False) -> str:
    """When a value that is not of now was read; `over`: there is none now, and why is known."""
    behind_s = _behind_s(graphs, graph.values, at)
    if _is_now(graphs, behind_s) and not over:
        return ""
    return f" until {clock(unix_seconds(graphs.end) - behind_s)}"


def _behind_s(graphs: IncidentGraphs, line: Line, at: int) -> float:
    return (len(line) - 1 - at) * graphs.step_s


def _is_now(graphs: IncidentGraphs, behind_s: float) -> bool:
    """Whether it is of the last step, or of one that is not much older."""
    return behind_s < max(_STILL_NOW_S, 2 * graphs.step_s)


def current(graphs: IncidentGraphs, line: Line) -> float | None:
    """The newest value of a line, if it is the present one."""
    at = _last(line)
    return line[at] if at is not None and _is_now(graphs, _behind_s(graphs, line, at)) else None


def clock(time: float, *, seconds: bool = False) -> str:
    """`11:06` or `11:06:30`, UTC."""
    return datetime.fromtimestamp(time, UTC).strftime("%H:%M:%S" if seconds else "%H:%M")


def runs(*lines: Sequence[float | None]) -> list[tuple[int, int]]:
    """First step, and the one after the last, of each stretch in which all lines have values."""
    stretches: list[tuple[int, int]] = []
    first = None
    for at, values in enumerate((*zip(*lines, strict=False), (None,))):
        present = all(value is not None for value in values)
        if present and first is None:
            first = at
        elif not present and first is not None:
            stretches.append((first, at))
            first = None
    return stretches
