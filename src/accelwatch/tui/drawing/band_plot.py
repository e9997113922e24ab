"""A line in front of a band as text: braille, half blocks or ASCII. Pure.

A cell has one colour: where the line is, it hides the band. What is missing is blank in both.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from accelwatch.tui.drawing.lines import Line

# Columns and rows of dots in a cell.
_DOTS = {"braille": (2, 4), "block": (1, 2), "ascii": (1, 1)}
# Bits of a braille cell by column and row from the top (Unicode chart U+2800).
_BITS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
_HALVES = " ▀▄█"
_SHADE = "░"

Values = Sequence[float | None]
# Rows of dots from the top, the first and the last; None where there is nothing.
Reach = tuple[int, int] | None


class BandPlot(NamedTuple):
    """What is drawn; all are equally long, oldest first, None where there is no value."""

    line: Values
    lower: Values
    upper: Values
    # The values of the lowest and the highest row.
    low: float
    high: float


def band_rows(
    plot: BandPlot, width: int, height: int, kind: str, roles: tuple[str, str]
) -> list[Line]:
    """`height` lines of `width` cells; `roles` are those of the line and of the band."""
    if width <= 0 or height <= 0:
        return []
    across, down = _DOTS[kind]
    dots = height * down
    columns = [
        _steps_of(column, width * across, len(plot.line)) for column in range(width * across)
    ]
    line = _joined([_reach(plot, plot.line, plot.line, steps, dots) for steps in columns])
    band = [_reach(plot, plot.upper, plot.lower, steps, dots) for steps in columns]
    return [
        [
            _cell(line[at : at + across], band[at : at + across], row * down, kind, roles)
            for at in range(0, width * across, across)
        ]
        for row in range(height)
    ]


def _steps_of(column: int, columns: int, steps: int) -> range:
    """The steps that a column of dots shows: several where there are more steps than columns."""
    first = column * steps // columns
    return range(first, max((column + 1) * steps // columns, min(first + 1, steps)))


def _reach(plot: BandPlot, tops: Values, bottoms: Values, steps: range, dots: int) -> Reach:
    """From the highest to the lowest of some steps, so that a spike of one of them is seen."""
    highest = [value for step in steps if (value := tops[step]) is not None]
    lowest = [value for step in steps if (value := bottoms[step]) is not None]
    if not highest or not lowest:
        return None
    return _row(plot, max(highest), dots), _row(plot, min(lowest), dots)


def _row(plot: BandPlot, value: float, dots: int) -> int:
    share = (value - plot.low) / (plot.high - plot.low) if plot.high > plot.low else 0.5
    return round((1.0 - min(max(share, 0.0), 1.0)) * (dots - 1))


def _joined(reaches: list[Reach]) -> list[Reach]:
    """Each column up to where the one before it is: a fall is a stroke, and not two dashes."""
    joined = reaches[:1]
    for before, here in pairwise(reaches):
        if before is None or here is None:
            joined.append(here)
        elif before[1] < here[0]:
            joined.append((before[1] + 1, here[1]))
        elif before[0] > here[1]:
            joined.append((here[0], before[0] - 1))
        else:
            joined.append(here)
    return joined


def _cell(
    line: Sequence[Reach], band: Sequence[Reach], top: int, kind: str, roles: tuple[str, str]
) -> tuple[str, str]:
    """One character, and its role."""
    down = _DOTS[kind][1]
    drawn = [_dots(reach, top, down) for reach in line]
    if any(map(any, drawn)):
        return _character(drawn, kind, "*"), roles[0]
    drawn = [_dots(reach, top, down) for reach in band]
    if not any(map(any, drawn)):
        return " ", roles[1]
    filled = sum(map(sum, drawn))
    shaded = kind != "ascii" and 2 * filled >= len(drawn) * down
    return (_SHADE if shaded else _character(drawn, kind, ":")), roles[1]


def _dots(reach: Reach, top: int, down: int) -> list[bool]:
    """Which dots of a cell a column fills, from the top."""
    return [reach is not None and reach[0] <= top + row <= reach[1] for row in range(down)]


def _character(drawn: Sequence[Sequence[bool]], kind: str, plain: str) -> str:
    if kind == "ascii":
        return plain
    if kind == "block":
        upper, lower = drawn[0]
        return _HALVES[upper + 2 * lower]
    bits = sum(
        bit
        for column, rows in zip(_BITS, drawn, strict=True)
        for bit, filled in zip(column, rows, strict=True)
        if filled
    )
    return chr(0x2800 + bits)
