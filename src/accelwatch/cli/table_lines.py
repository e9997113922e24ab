"""Cells as the aligned lines of a table, in plain text with optional colour."""

from collections.abc import Container, Sequence

import msgspec

# Columns of numbers.
_RIGHT = frozenset({"AGE", "OK/ALL", "LOAD", "MEMORY", "TEMP", "POWER", "CLOCK", "PID"})


class Style(msgspec.Struct, frozen=True):
    """How to write: colour, and whether only ASCII can be shown."""

    colour: bool = False
    ascii_only: bool = False
    # Cells of the terminal; None where lines may be of any length.
    width: int | None = None

    def paint(self, text: str, code: str) -> str:
        """The text in a colour, or as it is."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code else text


Cells = list[str]


def aligned(
    header: Cells,
    rows: list[Cells],
    style: Style,
    codes: list[str],
    right: Container[str] = _RIGHT,
) -> list[str]:
    """Lines of a table; `codes` are the rows' colours, `right` the titles of columns of numbers."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    to_right = [title in right for title in header]
    lines = [style.paint(_join(header, widths, to_right), "1")]
    for row, code in zip(rows, codes, strict=True):
        lines.append(style.paint(_join(row, widths, to_right), code))
    return lines


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a list without colour, all columns to the left; every row has as many cells."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [_join(row, widths, [False] * len(widths)) for row in rows]


def _join(cells: Sequence[str], widths: list[int], right: list[bool]) -> str:
    padded = (
        text.rjust(width) if to_right else text.ljust(width)
        for text, width, to_right in zip(cells, widths, right, strict=True)
    )
    return "  ".join(padded).rstrip()
