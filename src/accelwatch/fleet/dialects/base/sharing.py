"""Series and reasons that thousands of devices have in common, kept once: bounded, never changed."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter

from accelwatch.base.absence import Absence
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading, complete


# Interning: a fleet has millions of values under a few thousand series, and equal keys that are one
# object cost memory once and compare by identity.
@lru_cache(maxsize=1 << 16)
def shared(series: Series) -> Series:
    """The one object that stands for this series."""
    return series


_MOST_LAYOUTS = 256
# What is kept is bounded by both: devices with more series than that are laid out each by itself.
_MOST_SERIES = 2048


def series_positions(series: tuple[Series, ...]) -> dict[Series, int]:
    """The index of each of these series among them; of a repeated one the last."""
    return (
        _series_positions(series)
        if len(series) <= _MOST_SERIES
        else _series_positions.__wrapped__(series)
    )


# Shared by all devices of a layout; the result depends on the arguments alone.
@lru_cache(maxsize=_MOST_LAYOUTS)
def _series_positions(series: tuple[Series, ...]) -> dict[Series, int]:
    return {key: position for position, key in enumerate(series)}


def picker(slots: tuple[int, ...]) -> Callable[[Sequence[Number]], tuple[Number, ...]]:
    """Selects the numbers at these slots of a scrape."""
    return _picker(slots) if len(slots) <= _MOST_SERIES else _picker.__wrapped__(slots)


# Shared by all devices of a layout; the result depends on the arguments alone.
@lru_cache(maxsize=_MOST_LAYOUTS)
def _picker(slots: tuple[int, ...]) -> Callable[[Sequence[Number]], tuple[Number, ...]]:
    if len(slots) < 2:
        return lambda values: tuple([values[slot] for slot in slots])
    return itemgetter(*slots)


def absence_reasons(present: frozenset[Series], processes: bool) -> dict[Series, Absence]:
    """Why the other quantities of a device have no value, when `present` is what its exporter gives."""
    make = _absence_reasons if len(present) <= _MOST_SERIES else _absence_reasons.__wrapped__
    return make(present, processes)


# Shared by all devices of a layout; callers must not change the dict.
@lru_cache(maxsize=_MOST_LAYOUTS)
def _absence_reasons(present: frozenset[Series], processes: bool) -> dict[Series, Absence]:
    values: dict[Series, Number] = dict.fromkeys(present, 0)
    reading = Reading(device_id="", values=values, processes=() if processes else None)
    return complete(reading, frozenset()).absent
