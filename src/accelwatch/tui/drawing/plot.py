"""Graphs as text: braille, blocks or ASCII. Pure.

Values are pooled by their maximum, so a spike shorter than a column is still seen at its full height.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

_BRAILLE_LEFT = (0x40, 0x04, 0x02, 0x01)
# Dots of a braille cell's columns from the bottom upwards (Unicode chart U+2800).
_BRAILLE_RIGHT = (0x80, 0x20, 0x10, 0x08)
# A cell by the dots of its columns.
_BRAILLE = {
    (left, right): chr(0x2800 + sum(_BRAILLE_LEFT[:left]) + sum(_BRAILLE_RIGHT[:right]))
    for left in range(5)
    for right in range(5)
} | {(0, 0): " "}
_BLOCKS = " ▁▂▃▄▅▆▇█"
_ASCII = " .:#"
# Levels of one character cell.
_STEPS = {"braille": 4, "block": 8, "ascii": 3}


def pooled(values: Sequence[float], columns: int) -> list[float]:
    """`columns` maxima over equal shares of the values; NaN where a share has no value.

    With fewer values than columns each value fills several columns.
    """
    count = len(values)
    if not count or columns <= 0:
        return [math.nan] * max(columns, 0)
    maxima = []
    for column in range(columns):
        first = column * count // columns
        last = max((column + 1) * count // columns, first + 1)
        share = [value for value in values[first:last] if value == value]  # noqa: PLR0124 - NaN
        maxima.append(max(share) if share else math.nan)
    return maxima


def columns_of(kind: str, width: int) -> int:
    """How many values a graph `width` cells wide can show."""
    return width * 2 if kind == "braille" else width


def graph(
    values: Sequence[float], width: int, height: int, top: float, kind: str = "braille"
) -> list[str]:
    """`height` rows of `width` cells, the newest value at the right edge; `top` is the full height.

    Every value is drawn at least one step high, so that nothing at all means none (NaN).
    """
    if width <= 0 or height <= 0:
        return []
    steps = _STEPS[kind] * height
    levels = [_level(value, top, steps) for value in pooled(values, columns_of(kind, width))]
    return _rows(tuple(levels), height, kind)


# A repaint draws every graph, and idle devices draw the same one.
@lru_cache(maxsize=16)
def _rows(levels: tuple[int, ...], height: int, kind: str) -> list[str]:
    """The rows from the top; of a device that does nothing they stay the same from tick to tick."""
    return [_row(levels, row * _STEPS[kind], kind) for row in range(height - 1, -1, -1)]


def _level(value: float, top: float, steps: int) -> int:
    if math.isnan(value) or top <= 0:
        return 0
    share = min(max(value / top, 0.0), 1.0)
    return max(round(share * steps), 1)


def _row(levels: Sequence[int], base: int, kind: str) -> str:
    if kind == "braille":
        dots = [min(max(level - base, 0), 4) for level in levels]
        return "".join(map(_BRAILLE.__getitem__, zip(dots[::2], dots[1::2], strict=True)))
    signs = _BLOCKS if kind == "block" else _ASCII
    return "".join(signs[min(max(level - base, 0), len(signs) - 1)] for level in levels)
