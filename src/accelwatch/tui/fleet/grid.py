"""The fleet as lights: where each device's cell is, and what is next to it. Pure."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator

import msgspec

from accelwatch.fleet.picture.tally import FleetRow
from accelwatch.natural_order import natural
from accelwatch.tui.fleet.board import Key

MARGIN = 12
"""Cells at the left for the name of a line's first node."""
_NARROW = 60
_NO_DEVICE = -1

Cell = tuple[Key, int]
"""A row's key and the slot of a device in it; a node without devices has one cell of slot -1."""


class Block(msgspec.Struct, frozen=True):
    """Cells of one node that are next to each other, from column `x` on."""

    x: int
    row: FleetRow
    first: int
    """Number of the first device."""
    count: int


class GridLine:
    """A line of blocks, or the head of a group."""

    __slots__ = ("blocks", "cells", "head")

    def __init__(self, head: FleetRow | None = None) -> None:
        self.head = head
        self.blocks: list[Block] = []
        self.cells = 0


class Grid:
    """The lines for a width, and how to go about in them."""

    def __init__(self, rows: Iterable[FleetRow], groups: Iterable[FleetRow], width: int) -> None:
        self.margin = MARGIN if width >= _NARROW else 0
        self._width = max(width - self.margin - 2, 1)
        self.lines: list[GridLine] = []
        self._where: dict[Key, list[int]] = {}
        heads = list(groups)
        if not heads:
            self._add(sorted(rows, key=lambda row: natural(row.node)))
        for head in sorted(heads, key=lambda row: natural(row.group)):
            self.lines.append(GridLine(head))
            self._add(head.members)
        self._starts: list[int] = []
        self.count = 0
        """Cells in all."""
        for line in self.lines:
            self._starts.append(self.count)
            self.count += line.cells

    def _add(self, rows: Iterable[FleetRow]) -> None:
        """Nodes one after another, a blank between them; one that is too long is broken."""
        line, x = GridLine(), 0
        for row in rows:
            left, first = max(len(row.devices), 1), 0
            if x and x + left > self._width:
                self._end(line)
                line, x = GridLine(), 0
            while left:
                count = min(left, self._width - x)
                line.blocks.append(Block(x + self.margin + 1, row, first, count))
                line.cells += count
                self._where.setdefault(row.key, []).append(len(self.lines))
                left, first, x = left - count, first + count, x + count + 1
                if left:
                    self._end(line)
                    line, x = GridLine(), 0
        self._end(line)

    def _end(self, line: GridLine) -> None:
        if line.blocks:
            self.lines.append(line)

    def find(self, cell: Cell | None) -> tuple[int, int] | None:
        """(line, column) of a cell; None when it is not there."""
        if cell is None:
            return None
        for number in self._where.get(cell[0], ()):
            for block in self.lines[number].blocks:
                if block.row.key == cell[0] and (place := _place(block, cell[1])) is not None:
                    return number, block.x + place
        return None

    def at(self, line: int, x: int, *, near: bool = False) -> Cell | None:
        """The cell of a line and column, with `near` the one that is nearest in its line."""
        if not 0 <= line < len(self.lines):
            return None
        best: tuple[int, Cell] | None = None
        for block in self.lines[line].blocks:
            column = min(max(x, block.x), block.x + block.count - 1)
            if column == x or near:
                far = abs(column - x)
                if best is None or far < best[0]:
                    best = far, _cell(block, column - block.x)
        return None if best is None else best[1]

    def number(self, cell: Cell | None) -> int:
        """A cell's place among all of them; 0 when it is not there."""
        position = self.find(cell)
        if position is None:
            return 0
        line, x = position
        before = 0
        for block in self.lines[line].blocks:
            if block.x <= x < block.x + block.count:
                return self._starts[line] + before + x - block.x
            before += block.count
        return 0

    def numbered(self, number: int) -> Cell | None:
        """The cell at a place, the nearest there is."""
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


def _place(block: Block, slot: int) -> int | None:
    if slot == _NO_DEVICE:
        return 0 if not block.row.devices else None
    devices = block.row.devices[block.first : block.first + block.count]
    return next((place for place, now in enumerate(devices) if now.slot == slot), None)


def _cell(block: Block, place: int) -> Cell:
    devices = block.row.devices
    slot = devices[block.first + place].slot if devices else _NO_DEVICE
    return block.row.key, slot
