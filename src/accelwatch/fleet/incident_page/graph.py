"""A quantity over time as an SVG: a line, its gaps as gaps, and the moment at which it began."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from accelwatch.exposition.display import quantity
from accelwatch.web.pages.markup import Markup, element

_WIDTH, _HEIGHT = 340, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 336, 18, 122
# Share of its level by which the axis of a line that does not move is wider than the line.
_FLAT = 0.05


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """A quantity of a device, step by step; None: no value."""

    # Its path in the catalogue.
    name: str
    # Whether it is by how much a counter grows a second.
    rate: bool = False
    step_s: float
    # Unix seconds at which the last step ends.
    end: float
    values: tuple[float | None, ...]
    # Why there is no value now.
    absent: str = ""

    @property
    def start(self) -> float:
        """Unix seconds at which the first step begins."""
        return self.end - self.step_s * len(self.values)

    @property
    def title(self) -> str:
        """What is drawn."""
        return f"{self.name} per second" if self.rate else self.name

    @property
    def gaps(self) -> Iterator[tuple[int, int]]:
        """First step without a value, and the one after the last, of each gap."""
        first = None
        for at, value in enumerate((*self.values, 0.0)):
            if value is None and first is None:
                first = at
            elif value is not None and first is not None:
                yield first, at
                first = None


def graph(trace: Trace, onset: float) -> Markup:
    """The picture; `onset` in Unix seconds is marked where it is within."""
    present = [value for value in trace.values if value is not None]
    low, high = _bounds(present)
    children: list[Markup | None] = [_axis(trace, low, high, bool(present))]
    children += [_gap(trace, *gap) for gap in trace.gaps]
    children += [
        element("path", d=run, class_="line") for run in _runs(trace.values, low, high, trace)
    ]
    children.append(_onset(trace, onset))
    title = f"{trace.title} from {_clock(trace.start)} to {_clock(trace.end)}"
    return element(
        "svg",
        element("title", title),
        *children,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        class_="graph",
    )


def _bounds(values: Sequence[float]) -> tuple[float, float]:
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    if low >= 0.0 and low < 0.5 * high:
        low = 0.0
    if high == low:
        room = abs(high) * _FLAT or 1.0
        return low - room, high + room
    return low, high


def _axis(trace: Trace, low: float, high: float, has_values: bool) -> Markup:
    lines = [
        element("line", x1=_LEFT, x2=_RIGHT, y1=_y(value), y2=_y(value), class_="grid")
        for value in (0.0, 0.5, 1.0)
    ]
    labels = [_label(_LEFT - 4, _y(1.0) + 4, _value_text(trace, high), "end")] if has_values else []
    labels += [_label(_LEFT - 4, _y(0.0) + 4, _value_text(trace, low), "end")] if has_values else []
    labels += [
        _label(_LEFT, _BOTTOM + 15, _clock(trace.start), "start"),
        _label(_RIGHT, _BOTTOM + 15, _clock(trace.end), "end"),
        _label((_LEFT + _RIGHT) / 2, _BOTTOM + 15, "UTC", "middle"),
    ]
    return element("g", *lines, *labels)


def _value_text(trace: Trace, value: float) -> str:
    unit = "/s" if trace.rate else ""
    return f"{quantity(trace.name, value)}{unit}"


def _gap(trace: Trace, start: int, end: int) -> Markup:
    left, right = _x(trace, start), _x(trace, end)
    label = None
    if right - left > 60:
        last = end == len(trace.values)
        text = f"no data: {trace.absent}" if last and trace.absent else "no data"
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


def _runs(values: Sequence[float | None], low: float, high: float, trace: Trace) -> Iterator[str]:
    """A path for each unbroken row of values; a single one is a short dash."""
    run: list[str] = []
    for at, value in enumerate((*values, None)):
        if value is not None:
            height = _short(_y((value - low) / (high - low)))
            run.append(f"{'L' if run else 'M'}{_short(_x(trace, at))} {height}")
            run.append(f"L{_short(_x(trace, at + 1))} {height}")
        elif run:
            yield " ".join(run)
            run = []


def _onset(trace: Trace, onset: float) -> Markup | None:
    if not trace.start <= onset <= trace.end:
        return None
    x = _x(trace, (onset - trace.start) / trace.step_s)
    beside = "end" if x > (_LEFT + _RIGHT) / 2 else "start"
    line = element("line", x1=_short(x), x2=_short(x), y1=_TOP - 4, y2=_BOTTOM, class_="onset")
    text = f"began {_clock(onset, seconds=True)}"
    return element("g", line, _label(x, _TOP - 7, text, beside, "onset-word"))


def _x(trace: Trace, step: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * step / max(len(trace.values), 1)


def _y(share: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * share


def _short(number: float) -> str:
    return f"{number:.1f}"


def _label(x: float, y: float, text: str, anchor: str, class_: str = "") -> Markup:
    return element(
        "text", text, x=_short(x), y=_short(y), text_anchor=anchor, class_=class_ or None
    )


def _clock(time: float, *, seconds: bool = False) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%H:%M:%S" if seconds else "%H:%M")
