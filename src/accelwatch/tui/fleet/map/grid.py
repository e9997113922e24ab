"""The fleet as a map: where each device's cell is, and what is next to it. Pure."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from accelwatch.fleet.picture.tally import FleetRow, device_class
from accelwatch.schema.natural_order import natural
from accelwatch.schema.status.device_status import severity
from accelwatch.tui.drawing.device_signs import is_filled
from accelwatch.tui.fleet.board import Key
from accelwatch.tui.fleet.grid_shape import GridShape, shape_of

_NO_DEVICE = -1

# A row's key and the slot of a device in it; a node without devices has one cell of slot -1.
Cell = tuple[Key, int]


class Block(msgspec.Struct, frozen=True):
    """Cells of one node in one column, from cell `x` of the line on."""

    x: int
    row: FleetRow
    # Number of the first device.
    first: int
    # Devices; 1 for a node that has none.
    count: int
    # Cells of a device.
    cell: int
    # The device that is two wide where the others are one: the worst; -1 for none.
    wide: int

    def offset(self, index: int) -> int:
        """Cells from `x` to a device of the block."""
        return index * self.cell + (self.cell == 1 and 0 <= self.wide < index)

    def size(self, index: int) -> int:
        """Cells of a device of the block."""
        return self.offset(index + 1) - self.offset(index)

    def index_at(self, x: int) -> int:
        """The device at a cell of the line, else the nearest of the block."""
        inside = max(x - self.x, 0)
        nearest = inside - (self.cell == 1 and 0 <= self.wide < inside)
        return min(nearest // self.cell, self.count - 1)

    def away(self, x: int) -> int:
        """Cells from a cell of the line to the block; 0 inside it."""
        end = self.x + self.offset(self.count) - 1
        return max(self.x - x, x - end, 0)


class GridLine:
    """A line of blocks, or the head of a group."""

    __slots__ = ("blocks", "cells", "head")

    def __init__(self, head: FleetRow | None = None) -> None:
        self.head = head
        self.blocks: list[Block] = []
        self.cells = 0


class Grid:
    """The lines for a room, and how to go about in them."""

    def __init__(
        self, rows: Iterable[FleetRow], groups: Iterable[FleetRow], width: int, height: int
    ) -> None:
        heads = sorted(groups, key=lambda row: natural(row.group))
        sections = [head.members for head in heads]
        if not heads:
            sections = [sorted(rows, key=lambda row: natural(row.node))]
        self.shape = _shape(sections, width, height, len(heads))
        self.lines: list[GridLine] = []
        self._where: dict[Key, list[int]] = {}
        for number, members in enumerate(sections):
            if heads:
                self.lines.append(GridLine(heads[number]))
            self._add(members)
        self._starts: list[int] = []
        # Cells in all.
        self.count = 0
        for line in self.lines:
            self._starts.append(self.count)
            self.count += line.cells

    def _add(self, rows: Iterable[FleetRow]) -> None:
        """Nodes column by column; one with more devices than a column holds fills several."""
        shape, line, column = self.shape, GridLine(), 0
        for row in rows:
            for first in range(0, max(len(row.devices), 1), shape.unit):
                if column == shape.columns:
                    self._add_line(line)
                    line, column = GridLine(), 0
                block = self._block(row, first, shape.x(column))
                line.blocks.append(block)
                line.cells += block.count
                column += 1
                self._where.setdefault(row.key, []).append(len(self.lines))
        self._add_line(line)

    def _block(self, row: FleetRow, first: int, x: int) -> Block:
        shape = self.shape
        count = max(min(len(row.devices) - first, shape.unit), 1)
        wide = index_of_worst(row) - first
        return Block(x, row, first, count, shape.cell, wide if 0 <= wide < count else -1)

    def _add_line(self, line: GridLine) -> None:
        if line.blocks:
            self.lines.append(line)

    def block(self, cell: Cell | None) -> tuple[int, Block, int] | None:
        """(line, block, index in it) of a cell; None when it is not there."""
        if cell is None:
            return None
        for number in self._where.get(cell[0], ()):
            for block in self.lines[number].blocks:
                if block.row.key == cell[0] and (index := _index_of(block, cell[1])) is not None:
                    return number, block, index
        return None

    def find(self, cell: Cell | None) -> tuple[int, int] | None:
        """(line, column) of a cell; None when it is not there."""
        position = self.block(cell)
        return (
            None
            if position is None
            else (position[0], position[1].x + position[1].offset(position[2]))
        )

    def cells(self, position: tuple[int, Block, int]) -> tuple[int, int]:
        """From where to where a cell reaches in its line, without the gap behind it."""
        _, block, index = position
        x, size = block.x + block.offset(index), block.size(index)
        return x, x + (size - 1 if size > 2 else size)

    def at(self, line: int, x: int, *, near: bool = False) -> Cell | None:
        """The cell of a line and column, with `near` the one that is nearest in its line."""
        if not 0 <= line < len(self.lines) or not self.lines[line].blocks:
            return None
        block = min(self.lines[line].blocks, key=lambda block: block.away(x))
        return _cell(block, block.index_at(x)) if near or not block.away(x) else None

    def number(self, cell: Cell | None) -> int:
        """A cell's index among all of them; 0 when it is not there."""
        position = self.block(cell)
        if position is None:
            return 0
        line, block, index = position
        before = 0
        for other in self.lines[line].blocks:
            if other is block:
                break
            before += other.count
        return self._starts[line] + before + index

    def numbered(self, number: int) -> Cell | None:
        """The cell at an index, or the nearest there is."""
        if not self.count:
            return None
        number = min(max(number, 0), self.count - 1)
        line = bisect_right(self._starts, number) - 1
        left = number - self._starts[line]
        for block in self.lines[line].blocks:
            if left < block.count:
                return _cell(block, left)
            left -= block.count
        return None

    def faults(self) -> Iterator[Cell]:
        """The cells with which something is wrong; of a silent node the first one."""
        for block in (block for line in self.lines for block in line.blocks):
            row = block.row
            if row.speaks and row.devices and row.worst is not None:
                for index in range(block.count):
                    if severity(device_class(row.devices[block.first + index])):
                        yield _cell(block, index)
            elif row.severity and not block.first:
                yield _cell(block, 0)

    def beyond(self, cell: Cell | None, lines: int) -> Cell | None:
        """The cell so many lines of cells down (negative: up) in the same column; None past the ends."""
        position = self.find(cell)
        if position is None:
            return self.numbered(0)
        line, x = position
        step = 1 if lines > 0 else -1
        target, left = line, abs(lines)
        for number in self._lines_from(line, step):
            if left == 0:
                break
            target, left = number, left - 1
        return None if target == line else self.at(target, x, near=True)

    def _lines_from(self, line: int, step: int) -> Iterator[int]:
        end = len(self.lines) if step > 0 else -1
        return (n for n in range(line + step, end, step) if self.lines[n].blocks)


def index_of_worst(row: FleetRow) -> int:
    """The worst of a node's devices where it is drawn as a filled cell; -1 for none."""
    worst = row.worst
    if worst is None or not row.speaks or not is_filled(device_class(worst)):
        return -1
    return next((index for index, now in enumerate(row.devices) if now is worst), -1)


def _shape(
    sections: Sequence[Sequence[FleetRow]], width: int, height: int, heads: int
) -> GridShape:
    counts = [[len(row.devices) for row in members] for members in sections]
    names = {row.node for members in sections for row in members}
    return shape_of(counts, names, width, height, heads)


def _index_of(block: Block, slot: int) -> int | None:
    if slot == _NO_DEVICE:
        return 0 if not block.row.devices else None
    devices = block.row.devices[block.first : block.first + block.count]
    return next((index for index, now in enumerate(devices) if now.slot == slot), None)


def _cell(block: Block, index: int) -> Cell:
    devices = block.row.devices
    slot = devices[block.first + index].slot if devices else _NO_DEVICE
    return block.row.key, slot
