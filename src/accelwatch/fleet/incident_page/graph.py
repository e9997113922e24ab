"""A quantity over time as an SVG: a line, its gaps as gaps, and the moment at which it began."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from accelwatch.exposition.display import quantity
from accelwatch.web.pages.markup import Markup, element

_WIDTH, _HEIGHT = 340, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 336, 18, 122
_FLAT = 0.05
"""Share of its level by which the axis of a line that does not move is wider than the line."""


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """A quantity of a device, step by step; None: no value."""

    name: str
    """Its path in the catalogue."""
    rate: bool = False
    """Whether it is by how much a counter grows a second."""
    step_s: float
    end: float
    """Unix seconds at which the last step ends."""
    values: tuple[float | None, ...]
    absent: str = ""
    """Why there is no value now."""

    @property
    def begin(self) -> float:
        """Unix seconds at which the first step begins."""
        return self.end - self.step_s * len(self.values)

    @property
    def title(self) -> str:
        """What is drawn."""
        return f"{self.name} per second" if self.rate else self.name

    @property
    def gaps(self) -> Iterator[tuple[int, int]]:
        """First step without a value, and the one after the last, of each gap."""
        began = None
        for at, value in enumerate((*self.values, 0.0)):
            if value is None and began is None:
                began = at
            elif value is not None and began is not None:
                yield began, at
                began = None


def graph(trace: Trace, onset: float) -> Markup:
    """The picture; `onset` in Unix seconds is marked where it is within."""
    known = [value for value in trace.values if value is not None]
    low, high = _bounds(known)
    children: list[Markup | None] = [_axis(trace, low, high, bool(known))]
    children += [_gap(trace, *gap) for gap in trace.gaps]
    children += [
        element("path", d=run, class_="line") for run in _runs(trace.values, low, high, trace)
    ]
    children.append(_onset(trace, onset))
    said = f"{trace.title} from {_clock(trace.begin)} to {_clock(trace.end)}"
    return element(
        "svg",
        element("title", said),
        *children,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        class_="graph",
    )


def _bounds(known: Sequence[float]) -> tuple[float, float]:
    if not known:
        return 0.0, 1.0
    low, high = min(known), max(known)
    if low >= 0.0 and low < 0.5 * high:
        low = 0.0
    if high == low:
        room = abs(high) * _FLAT or 1.0
        return low - room, high + room
    return low, high


def _axis(trace: Trace, low: float, high: float, known: bool) -> Markup:
    lines = [
        element("line", x1=_LEFT, x2=_RIGHT, y1=_y(value), y2=_y(value), class_="grid")
        for value in (0.0, 0.5, 1.0)
    ]
    words = [_word(_LEFT - 4, _y(1.0) + 4, _said(trace, high), "end")] if known else []
    words += [_word(_LEFT - 4, _y(0.0) + 4, _said(trace, low), "end")] if known else []
    words += [
        _word(_LEFT, _BOTTOM + 15, _clock(trace.begin), "start"),
        _word(_RIGHT, _BOTTOM + 15, _clock(trace.end), "end"),
        _word((_LEFT + _RIGHT) / 2, _BOTTOM + 15, "UTC", "middle"),
    ]
    return element("g", *lines, *words)


def _said(trace: Trace, value: float) -> str:
    unit = "/s" if trace.rate else ""
    return f"{quantity(trace.name, value)}{unit}"


def _gap(trace: Trace, begin: int, end: int) -> Markup:
    left, right = _x(trace, begin), _x(trace, end)
    words = None
    if right - left > 60:
        last = end == len(trace.values)
        said = f"no data: {trace.absent}" if last and trace.absent else "no data"
        words = _word((left + right) / 2, (_TOP + _BOTTOM) / 2, said, "middle")
    area = element(
        "rect",
        x=_short(left),
        y=_TOP,
        width=_short(right - left),
        height=_BOTTOM - _TOP,
        class_="gap",
    )
    return element("g", area, words)


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
    if not trace.begin <= onset <= trace.end:
        return None
    x = _x(trace, (onset - trace.begin) / trace.step_s)
    beside = "end" if x > (_LEFT + _RIGHT) / 2 else "start"
    line = element("line", x1=_short(x), x2=_short(x), y1=_TOP - 4, y2=_BOTTOM, class_="onset")
    said = f"began {_clock(onset, seconds=True)}"
    return element("g", line, _word(x, _TOP - 7, said, beside, "onset-word"))


def _x(trace: Trace, step: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * step / max(len(trace.values), 1)


def _y(share: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * share


def _short(number: float) -> str:
    return f"{number:.1f}"


def _word(x: float, y: float, words: str, anchor: str, class_: str = "") -> Markup:
    return element(
        "text", words, x=_short(x), y=_short(y), text_anchor=anchor, class_=class_ or None
    )


def _clock(moment: float, *, seconds: bool = False) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%H:%M:%S" if seconds else "%H:%M")
