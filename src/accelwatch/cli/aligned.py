"""Rows of text in aligned columns, as commands print lists."""

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line a row; columns are two spaces apart, the last one is as long as its text. Equal lengths."""
    widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]]
    return [
        "  ".join(
            [*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]
        ).rstrip()
        for row in rows
    ]
