"""The numbers of a device as a page reported them: a mapping that is built at its first use.

A hub reads thousands of devices for each that is viewed; a dictionary a device and page costs more
than the numbers themselves, in time and in memory.
"""

from collections.abc import ItemsView, Iterator, Mapping

from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number


class ReportedValues(Mapping[Series, Number]):
    """Numbers by series; the positions are one object for all devices with the same series."""

    __slots__ = ("_numbers", "_positions")

    def __init__(self, positions: Mapping[Series, int], numbers: tuple[Number, ...]) -> None:
        self._positions = positions
        self._numbers = numbers

    def __getitem__(self, series: Series) -> Number:
        return self._numbers[self._positions[series]]

    def __iter__(self) -> Iterator[Series]:
        return iter(self._positions)

    def __len__(self) -> int:
        return len(self._positions)

    def __contains__(self, series: object) -> bool:
        return series in self._positions

    def __repr__(self) -> str:
        return repr(dict(self))

    def items(self) -> ItemsView[Series, Number]:
        """Series and numbers."""
        return _Items(self)

    def pairs(self) -> Iterator[tuple[Series, Number]]:
        """The same, one after the other."""
        numbers = self._numbers
        return ((series, numbers[position]) for series, position in self._positions.items())


class _Items(ItemsView[Series, Number]):
    __slots__ = ()
    _mapping: ReportedValues

    def __iter__(self) -> Iterator[tuple[Series, Number]]:
        return self._mapping.pairs()
