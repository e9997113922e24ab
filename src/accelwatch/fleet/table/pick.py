"""Which of a layout's values are wanted, and reading those of many devices as one matrix.

A tag stands beside every number: `d` a double, `q` an integer that a double represents exactly, `Q` an
integer that it does not, else the letter of why there is none (`schema/stream/compact.py`) and NaN.
"""

from array import array
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.fleet.table.belief import Floats, Limits
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.stream.packed import WIDTH, unpack

Tags = npt.NDArray[np.uint8]
# Of a tick: numbers, and letters for why there is none. A tuple is nothing to garbage collection.
Values = tuple[int | float | str, ...]

DOUBLE, INTEGER, LARGE = ord("d"), ord("q"), ord("Q")
REFUSED = NEVER_READ = ord("e")
# The layout has no such series.
NOT_REPORTED = ord("n")
# Integers up to this are doubles as well.
EXACT = 2**53
_2_64 = 1 << 64

_anything = msgspec.msgpack.Decoder(Values).decode
_numbers = msgspec.msgpack.Decoder(tuple[int | float, ...]).decode
_bytes = msgspec.msgpack.Decoder(bytes).decode
_BAD = (*DECODE_ERRORS, ValueError)
_ARRAYS = (*range(0x90, 0xA0), 0xDC, 0xDD)
# First byte of a MessagePack bin and the bytes of its head.
_BINARY = {0xC4: 2, 0xC5: 3, 0xC6: 5}


class Block(NamedTuple):
    """Numbers and marks of devices of one layout, a wanted series a row, a device a column."""

    values: Floats
    tags: Tags


def count_of(raw: msgspec.Raw) -> int:
    """How many values a tick has for a device, from its first bytes; -1 when it is none of our forms."""
    head = memoryview(raw)
    try:
        first = head[0]
        if first == 0xDC:  # of nearly every device: checked first, and without a copy
            return head[1] << 8 | head[2]
        if first & 0xF0 == 0x90:
            return first & 0x0F
        if first in _BINARY:
            size = int.from_bytes(head[1 : _BINARY[first]], "big")
            return -1 if size % WIDTH else size // WIDTH
        return int.from_bytes(head[1:5], "big") if first == 0xDD else -1
    except IndexError:
        return -1


def decoded(raw: msgspec.Raw, count: int) -> Values:
    """The values of one device exactly as they were sent; `error` for each when they cannot be read."""
    try:
        is_array = memoryview(raw)[0] in _ARRAYS
        values = _anything(raw) if is_array else unpack(_bytes(raw))
    except (*_BAD, IndexError):
        return ("e",) * count
    return values if len(values) == count else ("e",) * count


Line = Sequence[Number] | Values
Getter = Callable[[Line], Values]


class Pick:
    """The wanted series of a layout."""

    def __init__(
        self, requested: tuple[Series, ...], positions: Sequence[int | None], count: int
    ) -> None:
        """`positions` are those of the wanted series among the `count` of the layout."""
        self._count = count
        self._requested_count = len(requested)
        self._columns = np.array(
            [column for column, at in enumerate(positions) if at is not None], dtype=np.intp
        )
        self._positions = [at for at in positions if at is not None]
        self._at = np.array(self._positions, dtype=np.intp)
        self._limits = Limits(
            tuple(series for series, at in zip(requested, positions, strict=True) if at is not None)
        )
        self._split: _Split | None = None
        self._pick = _getter(self._positions)

    def block(self, ticks: Sequence[msgspec.Raw]) -> Block:
        """The values of devices of this layout, undecoded; also of series that it does not have."""
        shape = self._requested_count, len(ticks)
        if not self._positions or not ticks:
            return Block(np.full(shape, np.nan), np.full(shape, NOT_REPORTED, dtype=np.uint8))
        block = self._packed(ticks) or self._listed(ticks)
        believed = self._limits.believed(block.values, block.tags == LARGE)
        if not believed.all():
            refused = ~believed
            block.values[refused] = np.nan
            block.tags[refused & _is_number(block.tags)] = REFUSED
        if len(self._positions) == self._requested_count:
            return block
        values = np.full(shape, np.nan)
        tags = np.full(shape, NOT_REPORTED, dtype=np.uint8)
        values[self._columns], tags[self._columns] = block
        return Block(values, tags)

    def _packed(self, ticks: Sequence[msgspec.Raw]) -> Block | None:
        """All of them in one pass, where all are packed and begin alike; else None."""
        head = _BINARY.get(memoryview(ticks[0])[0], 0)
        stride = head + self._count * WIDTH
        joined = b"".join(ticks)
        if not head or len(joined) != stride * len(ticks):
            return None
        lines = np.frombuffer(joined, dtype=np.uint8).reshape(len(ticks), stride)
        first = head + self._count
        # Numbers are where they are, aligned or not: only those that are wanted are copied.
        shape = len(ticks), self._count
        numbers = np.ndarray(shape, "<i8", joined, offset=first, strides=(stride, 8))
        raw = numbers.T[self._at]
        alike = lines[:, :first] == lines[0, :first]
        if alike.all():
            return self._tagged_alike(raw, lines[0, head:first][self._at])
        if not alike[:, :head].all():
            return None
        return self._numbers(raw, lines[:, head:first].T[self._at])

    def _tagged_alike(self, raw: npt.NDArray[np.int64], tag: Tags) -> Block:
        """What eight bytes mean where every device has the same marks, one a series."""
        tags = np.repeat(tag[:, np.newaxis], raw.shape[1], axis=1)
        integers = np.flatnonzero(tag == INTEGER)
        signed = raw[integers]
        if (tag == LARGE).any() or _beyond(signed):
            return self._numbers(raw, tags)
        values = raw.view(np.float64)
        values[integers] = signed
        values[~_is_number(tag)] = np.nan
        return Block(values, tags)

    def _numbers(self, raw: npt.NDArray[np.int64], tags: Tags) -> Block:
        """What eight bytes mean by their marks."""
        integers, large = tags == INTEGER, tags == LARGE
        values = np.where(integers, raw, raw.view(np.float64))
        absent = ~(integers | (tags == DOUBLE))
        if absent.any():
            values[absent] = np.nan
        beyond = integers & ((raw > EXACT) | (raw < -EXACT))
        for some, modulus in ((beyond, 0), (large, _2_64)):
            if some.any():
                for row, column in np.argwhere(some).tolist():
                    bits = int(raw[row, column])
                    exact = bits % modulus if modulus else bits
                    self._set_large(values, tags, (row, column), exact)
        return Block(values, tags)

    def _set_large(self, values: Floats, tags: Tags, cell: tuple[int, int], exact: Number) -> None:
        """An integer that a double does not hold is checked as it is."""
        if self._limits.believes(cell[0], exact):
            values[cell], tags[cell] = exact, LARGE
        else:
            values[cell], tags[cell] = np.nan, REFUSED

    def _listed(self, ticks: Sequence[msgspec.Raw]) -> Block:
        """The same of values as MessagePack arrays."""
        try:
            lines: list[tuple[Number, ...]] = [_numbers(tick) for tick in ticks]
        except _BAD:
            return self._line_by_line([decoded(tick, self._count) for tick in ticks])
        if {len(line) for line in lines} != {self._count}:
            return self._line_by_line([decoded(tick, self._count) for tick in ticks])
        if self._split is None:
            self._split = _Split(self._positions, self._positions).after(lines[:1])
        block = self._split.block(lines)
        if block is None:  # an integer has become a double, or is a large one
            self._split = self._split.after(lines)
            return self._line_by_line(lines)
        return block

    def _line_by_line(self, lines: Sequence[Values]) -> Block:
        values = np.full((len(self._positions), len(lines)), np.nan)
        tags = np.full(values.shape, NEVER_READ, dtype=np.uint8)
        for column, line in enumerate(lines):
            picked = self._pick(line)
            tags[:, column] = [_tag(value) for value in picked]
            values[:, column] = [np.nan if isinstance(value, str) else value for value in picked]
            for row in np.flatnonzero(tags[:, column] == LARGE).tolist():
                exact = picked[row]
                if not isinstance(exact, str):
                    self._set_large(values, tags, (row, column), exact)
        return Block(values, tags)


class _Split:
    """Wanted positions by whether they hold integers, as far as has been seen."""

    def __init__(self, positions: Sequence[int], integral: Sequence[int]) -> None:
        self._positions = positions
        self.integral = integral
        doubles = [at for at in positions if at not in integral]
        self._integers, self._doubles = _getter(integral), _getter(doubles)
        column_of = {at: column for column, at in enumerate(positions)}
        self._of_integers = np.array([column_of[at] for at in integral], dtype=np.intp)
        self._of_doubles = np.array([column_of[at] for at in doubles], dtype=np.intp)
        self._tags = np.full(len(positions), DOUBLE, dtype=np.uint8)
        self._tags[self._of_integers] = INTEGER

    def after(self, lines: Sequence[Sequence[Number]]) -> "_Split":
        """The same after more values: what was a double once stays among the doubles."""
        left = [at for at in self.integral if all(isinstance(line[at], int) for line in lines)]
        return _Split(self._positions, left)

    def block(self, lines: Sequence[Sequence[Number]]) -> Block | None:
        """The values; None where one is not of the kind that it was, or a large integer."""
        doubles: list[Any] = []
        integers: list[Any] = []  # `array` checks the kinds faster than we could
        for line in lines:
            doubles += self._doubles(line)
            integers += self._integers(line)
        try:
            signed = np.frombuffer(array("q", integers), dtype=np.int64)
        except (TypeError, OverflowError):
            return None
        real = np.frombuffer(array("d", doubles), dtype=np.float64)
        if ((real >= EXACT) | (real <= -EXACT)).any() or _beyond(signed):
            return None  # the next integer is this very double
        values = np.empty((len(self._tags), len(lines)))
        values[self._of_doubles] = real.reshape(len(lines), -1).T
        values[self._of_integers] = signed.reshape(len(lines), -1).T
        return Block(values, np.repeat(self._tags[:, np.newaxis], len(lines), axis=1))


def _is_number(tags: Tags) -> npt.NDArray[np.bool_]:
    result: npt.NDArray[np.bool_] = (tags == DOUBLE) | (tags == INTEGER) | (tags == LARGE)
    return result


def _beyond(numbers: npt.NDArray[np.int64]) -> bool:
    return bool(((numbers > EXACT) | (numbers < -EXACT)).any())


def _tag(value: Number | str) -> int:
    if isinstance(value, str):
        return ord(value[:1] or "e") & 0xFF
    if isinstance(value, float):
        return DOUBLE
    return INTEGER if -EXACT <= value <= EXACT else LARGE


def _getter(positions: Sequence[int]) -> Getter:
    """The items at positions, always as a tuple."""
    if len(positions) > 1:
        return itemgetter(*positions)
    if not positions:
        return lambda _line: ()
    at = positions[0]
    return lambda line: (line[at],)
