"""The numbers of a device as a page told them: a mapping that is not built before somebody asks.

A hub reads thousands of devices for each that is looked at; a dictionary a device and page costs more
than the numbers themselves, in time and in memory.
"""

from collections.abc import ItemsView, Iterator, Mapping

from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number


class Told(Mapping[Series, Number]):
    """Numbers by series; where each stands is the same object for all devices that tell the same."""

    __slots__ = ("_numbers", "_places")

    def __init__(self, places: Mapping[Series, int], numbers: tuple[Number, ...]) -> None:
        self._places = places
        self._numbers = numbers

    def __getitem__(self, series: Series) -> Number:
        return self._numbers[self._places[series]]

    def __iter__(self) -> Iterator[Series]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, series: object) -> bool:
        return series in self._places

    def __repr__(self) -> str:
        return repr(dict(self))

    def items(self) -> ItemsView[Series, Number]:
        """Series and numbers."""
        return _Items(self)

    def pairs(self) -> Iterator[tuple[Series, Number]]:
        """The same, one after the other."""
        numbers = self._numbers
        return ((series, numbers[place]) for series, place in self._places.items())


class _Items(ItemsView[Series, Number]):
    __slots__ = ()
    _mapping: Told

    def __iter__(self) -> Iterator[tuple[Series, Number]]:
        return self._mapping.pairs()
