"""Series and reasons that thousands of devices have in common, kept once: bounded, never changed."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter

from accelwatch.schema.absence import Absence
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading, complete


@lru_cache(maxsize=1 << 16)
def shared(series: Series) -> Series:
    """The one object that stands for this series."""
    return series


@lru_cache(maxsize=1 << 12)
def placed(series: tuple[Series, ...]) -> dict[Series, int]:
    """Where each of these series stands among them; of one that is repeated the last place."""
    return {one: place for place, one in enumerate(series)}


@lru_cache(maxsize=1 << 12)
def picker(slots: tuple[int, ...]) -> Callable[[Sequence[Number]], tuple[Number, ...]]:
    """Takes the numbers at these slots of a scrape."""
    if len(slots) < 2:
        return lambda values: tuple([values[slot] for slot in slots])
    return itemgetter(*slots)


@lru_cache(maxsize=1 << 10)
def not_told(present: frozenset[Series], processes: bool) -> dict[Series, Absence]:
    """Why the other quantities of a device have no value, when `present` is what its exporter gives."""
    values: dict[Series, Number] = dict.fromkeys(present, 0)
    reading = Reading(device_id="", values=values, processes=() if processes else None)
    return complete(reading, frozenset()).absent
