"""How a map of the fleet uses its room: cells of a device, nodes of a line, names. Pure."""

from collections.abc import Collection, Iterator, Sequence

import msgspec

# Cells of a device from which its figure is in words: `▃  42%`, `✕ lost`.
NUMBERED = 7
# Cells of a device from which its last minute is drawn too.
TRACED = 14
_MOST = 22
_LONG_NAME, _SHORT_NAME = 24, 10
# Cells of a line below which no names stand in it where there is no room for all of them.
_NARROW = 60
# The share of nodes that have room for all devices in one column.
_TYPICAL = 0.9


class GridShape(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes stand in columns of equal width, so that one without devices shifts no other."""

    # Devices that a column has room for; a node with more fills several columns.
    unit: int
    # Cells of a device.
    cell: int
    # Cells of a name with the blank behind it; 0 without one.
    name: int
    columns: int
    # Whether each column begins with a name, or only each line.
    every: bool

    @property
    def span(self) -> int:
        """Cells of a column's devices; the narrowest have one more, for a fault that is two wide."""
        return self.unit * self.cell + (self.cell == 1)

    def x(self, column: int) -> int:
        """The cell of a line at which a column's devices begin."""
        stride = self.span + 1 + (self.name if self.every else 0)
        return 1 + self.name + column * stride

    def lines(self, blocks: int) -> int:
        """Lines that so many blocks fill."""
        return -(-blocks // self.columns)


def shape_of(
    sections: Sequence[Sequence[int]], names: Collection[str], width: int, height: int, heads: int
) -> GridShape:
    """The roomiest shape in which everything is seen at once, else the densest.

    `sections` has the number of devices of each node, group by group; `heads` are their titles.
    """
    unit = _unit([count for section in sections for count in section])
    chosen = None
    for shape in _shapes(unit, max(map(len, names), default=1), width):
        chosen = shape
        needed = heads + sum(
            shape.lines(sum(max(-(-count // shape.unit), 1) for count in section))
            for section in sections
        )
        if needed <= height:
            break
    assert chosen is not None
    return chosen


def _unit(counts: Sequence[int]) -> int:
    """Devices of a node that is not uncommonly large."""
    sizes = sorted(filter(None, counts)) or [1]
    return sizes[int(_TYPICAL * (len(sizes) - 1))]


def _shapes(unit: int, longest: int, width: int) -> Iterator[GridShape]:
    """From one node in a line on to as many as there is room for."""
    long, short = (min(longest, most) + 1 for most in (_LONG_NAME, _SHORT_NAME))
    for columns in range(1, width):
        name = long if columns == 1 else short
        room = (width - columns) // columns - name
        cell = _rounded(min(room // unit, _MOST))
        if cell < 2:
            break
        yield GridShape(unit=unit, cell=cell, name=name, columns=columns, every=True)
    yield _dense(unit, short, width, every=True)
    yield _dense(unit, short if width >= _NARROW else 0, width, every=False)


def _rounded(cell: int) -> int:
    """Cells that are of use: without a figure, more than three are not."""
    return cell if cell >= NUMBERED else min(cell, 3)


def _dense(unit: int, name: int, width: int, *, every: bool) -> GridShape:
    """A cell a device, as many columns as fit."""
    unit = max(min(unit, width - 2 - name), 1)
    shape = GridShape(unit=unit, cell=1, name=name, columns=1, every=every)
    stride = shape.x(1) - shape.x(0)
    room = width - 1 if every else width - 1 - name
    return msgspec.structs.replace(shape, columns=max((room + 1) // stride, 1))
