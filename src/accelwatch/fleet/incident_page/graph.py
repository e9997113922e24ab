"""A quantity over time as an SVG: a line, the band of the peers, gaps as gaps, when it began."""

from collections.abc import Iterator, Sequence

from accelwatch.fleet.documents.graphs import IncidentGraphs, Line, QuantityGraph
from accelwatch.fleet.picture.graph_text import bounds, clock, runs, start_of, value_text
from accelwatch.schema.timestamps import unix_seconds
from accelwatch.web.pages.markup import Markup, element

_WIDTH, _HEIGHT = 340, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 336, 18, 122
# Widths of a gap that has room for words.
_LEAST_GAP = 60


class _Canvas:
    """Where times and values of one picture are."""

    def __init__(self, graphs: IncidentGraphs, graph: QuantityGraph) -> None:
        self.start, self.end = start_of(graphs), unix_seconds(graphs.end)
        self._steps = max(len(graph.values), 1)
        self.low, self.high = bounds(graph)

    def x(self, step: float) -> float:
        """Of the beginning of a step."""
        return _LEFT + (_RIGHT - _LEFT) * step / self._steps

    def at(self, time: float) -> float | None:
        """Of a moment; None where it is not within."""
        if not self.start <= time <= self.end or self.end == self.start:
            return None
        return self.x((time - self.start) / (self.end - self.start) * self._steps)

    def y(self, value: float) -> float:
        """Of a value."""
        return _height((value - self.low) / (self.high - self.low))


def graph_of(graphs: IncidentGraphs, graph: QuantityGraph) -> Markup:
    """The picture of one of the graphs; `caption` is its words for who does not see it."""
    canvas = _Canvas(graphs, graph)
    title = f"{graph.title} from {clock(canvas.start)} to {clock(canvas.end)} UTC"
    return element(
        "svg",
        element("title", title),
        _axis(canvas, graph),
        *_band(canvas, graph),
        *(_gap(canvas, graph, *gap) for gap in _gaps(graph.values)),
        *(
            element("path", d=_steps(canvas, graph.median, *run), class_="median")
            for run in runs(graph.median)
        ),
        *(
            element("path", d=_steps(canvas, graph.values, *run), class_="line")
            for run in runs(graph.values)
        ),
        _onset(canvas, unix_seconds(graphs.since)),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        class_="graph",
    )


def legend() -> Markup:
    """What line and band are; the same signs as in the picture."""
    line = element("path", d="M0 6 L22 6", class_="line")
    band = element("rect", x=0, y=1, width=22, height=10, class_="band")
    median = element("path", d="M0 6 L22 6", class_="median")
    return element(
        "p",
        element("svg", line, viewBox="0 0 22 12", class_="graph key", aria_hidden="true"),
        " this one ",
        element("svg", band, median, viewBox="0 0 22 12", class_="graph key", aria_hidden="true"),
        " its peers: the middle half, and their median",
        class_="soft small",
    )


def _axis(canvas: _Canvas, graph: QuantityGraph) -> Markup:
    lines = [
        element("line", x1=_LEFT, x2=_RIGHT, y1=_height(share), y2=_height(share), class_="grid")
        for share in (0.0, 0.5, 1.0)
    ]
    labels = []
    if any(value is not None for value in graph.values):
        for share, value in ((1.0, canvas.high), (0.0, canvas.low)):
            text = value_text(graph, value)
            labels.append(_label(_LEFT - 4, _height(share) + 4, text, "end"))
    below = _BOTTOM + 15
    labels += [
        _label(_LEFT, below, clock(canvas.start), "start"),
        _label(_RIGHT, below, clock(canvas.end), "end"),
        _label((_LEFT + _RIGHT) / 2, below, "UTC", "middle"),
    ]
    return element("g", *lines, *labels)


def _band(canvas: _Canvas, graph: QuantityGraph) -> Iterator[Markup]:
    """The area between the quartiles, a piece for each stretch in which there are peers."""
    for start, end in runs(graph.lower_quartile, graph.upper_quartile):
        there = _points(canvas, graph.upper_quartile, start, end)
        back = reversed(_points(canvas, graph.lower_quartile, start, end))
        yield element("path", d=f"M{' L'.join((*there, *back))} Z", class_="band")


def _steps(canvas: _Canvas, line: Line, start: int, end: int) -> str:
    """A path over steps that all have values; a single one is a short dash."""
    return f"M{' L'.join(_points(canvas, line, start, end))}"


def _points(canvas: _Canvas, line: Line, start: int, end: int) -> list[str]:
    """Beginning and end of each step: `58.0 20.5`."""
    return [
        f"{_short(canvas.x(at + side))} {_short(canvas.y(value))}"
        for at in range(start, end)
        if (value := line[at]) is not None
        for side in (0, 1)
    ]


def _gaps(line: Sequence[float | None]) -> Iterator[tuple[int, int]]:
    """First step without a value, and the one after the last, of each gap."""
    at = 0
    for start, end in runs(line):
        if start > at:
            yield at, start
        at = end
    if at < len(line):
        yield at, len(line)


def _gap(canvas: _Canvas, graph: QuantityGraph, start: int, end: int) -> Markup:
    left, right = canvas.x(start), canvas.x(end)
    label = None
    if right - left > _LEAST_GAP:
        last = end == len(graph.values)
        text = f"no data: {graph.absent}" if last and graph.absent else "no data"
        label = _label((left + right) / 2, (_TOP + _BOTTOM) / 2, text, "middle")
    area = element(
        "rect",
        x=_short(left),
        y=_TOP,
        width=_short(right - left),
        height=_BOTTOM - _TOP,
        class_="gap",
    )
    return element("g", area, label)


def _onset(canvas: _Canvas, onset: float) -> Markup | None:
    x = canvas.at(onset)
    if x is None:
        return None
    beside = "end" if x > (_LEFT + _RIGHT) / 2 else "start"
    line = element("line", x1=_short(x), x2=_short(x), y1=_TOP - 4, y2=_BOTTOM, class_="onset")
    text = f"began {clock(onset, seconds=True)}"
    return element("g", line, _label(x, _TOP - 7, text, beside, "onset-word"))


def _height(share: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * share


def _short(number: float) -> str:
    return f"{number:.1f}"


def _label(x: float, y: float, text: str, anchor: str, class_: str = "") -> Markup:
    return element(
        "text", text, x=_short(x), y=_short(y), text_anchor=anchor, class_=class_ or None
    )
