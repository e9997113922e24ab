"""Quantities that need readings over time: integrals, rolling maxima, distributions.

Lives with the owner of the store, so it survives a restart of the collector. Every integral leaves out
gaps longer than a limit: what nobody saw is not made up.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Container, Mapping
from functools import cache, partial
from typing import TypeVar

from accelwatch.schema.catalogue.lookup import by_key, made_over_time
from accelwatch.schema.metrics import Kind, Series
from accelwatch.schema.reading import READS_UNTIL_STALE, Number, Reading

# Length of the rolling window; not shorter than usual scrape intervals, so that no peak is missed.
WINDOW_S = 60.0

_K = TypeVar("_K")
_V = TypeVar("_V")

_UTILIZATION: Series = ("utilization_ratio",)
_POWER: Series = ("power_watts",)
_ENERGY: Series = ("energy_joules_total", "integrated")
_BUSY: Series = ("busy_seconds_total",)
_RESETS: Series = ("resets_total",)

# Counters of the device itself that grow steadily and fall only when device or driver restart.
_RESET_WITNESSES = frozenset({"energy_joules_total", "throttle_seconds_total"})


class Integral:
    """Sum of a rate over time."""

    def __init__(self) -> None:
        self._timestamp: float | None = None
        self._rate = 0.0
        self.total = 0.0

    def add(self, timestamp: float, rate: float, gap_limit_s: float, *, mean: bool) -> None:
        """A new sample. `mean`: it is the mean since the sample before; else it is of this moment."""
        if self._timestamp is not None and 0.0 < timestamp - self._timestamp <= gap_limit_s:
            height = rate if mean else (rate + self._rate) / 2.0
            self.total += height * (timestamp - self._timestamp)
        self._timestamp, self._rate = timestamp, rate


class RollingMax:
    """Largest sample of the last WINDOW_S seconds; holds only samples that can still be the largest."""

    def __init__(self, window_s: float = WINDOW_S) -> None:
        self._window_s = window_s
        self._samples: deque[tuple[float, Number]] = deque()

    def add(self, timestamp: float, value: Number) -> None:
        """A new sample."""
        while self._samples and self._samples[-1][1] <= value:
            self._samples.pop()
        self._samples.append((timestamp, value))
        self.forget(timestamp)

    def forget(self, timestamp: float) -> None:
        """Drop what has left the window by `timestamp`."""
        while self._samples and self._samples[0][0] < timestamp - self._window_s:
            self._samples.popleft()

    @property
    def value(self) -> Number | None:
        """The maximum; None without a sample in the window."""
        return self._samples[0][1] if self._samples else None


class Distribution:
    """Counts of samples by upper bound."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def add(self, value: Number) -> None:
        """A new sample; a bound belongs to its bucket, as in Prometheus (`le`)."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def cumulative(self) -> tuple[tuple[int, ...], float]:
        """Cumulative counts, +Inf last, and the sum of samples."""
        running, result = 0, []
        for count in self._counts:
            running += count
            result.append(running)
        return tuple(result), self._sum


class Accumulator:
    """Everything derived over time for one device."""

    def __init__(self, *, gap_limit_s: float, groups: frozenset[str] = frozenset()) -> None:
        self._gap_limit_s = gap_limit_s
        # Of the reading at hand: one of a slow source comes at that one's pace.
        self._limit_s = gap_limit_s
        self._histograms = "histograms" in groups
        self._needs_resets = "ecc" in groups
        self._integrals: dict[Series, Integral] = {}
        self._maxima: dict[Series, RollingMax] = {}
        self._distributions: dict[str, Distribution] = {}
        self._witnesses: dict[Series, Number] = {}
        self._resets = 0

    def pace(self, gap_limit_s: float) -> None:
        """Readings come at another pace from now on."""
        self._gap_limit_s = gap_limit_s

    def add(self, reading: Reading, timestamp: float) -> None:
        """Add a reading of a time on the monotonic clock."""
        values = reading.values
        self._limit_s = max(self._gap_limit_s, READS_UNTIL_STALE * reading.pace_s)
        if _UTILIZATION in values:
            self._integrate(_BUSY, timestamp, min(values[_UTILIZATION], 1.0), mean=True)
        if _POWER in values and not _has(values, "energy_joules_total"):
            self._integrate(_ENERGY, timestamp, values[_POWER], mean=False)
        self._add_throttling(values, timestamp)
        self._add_maxima(values, timestamp)
        if self._histograms:
            self._add_distributions(values)
        self._count_resets(values)

    def values(self, own: Container[str], timestamp: float) -> dict[Series, Number]:
        """Derived series that go with a reading, whose `own` quantities are not replaced."""
        derived: dict[Series, Number] = {
            series: integral.total
            for series, integral in self._integrals.items()
            if series[0] not in own
        }
        for series, maximum in self._maxima.items():
            maximum.forget(timestamp)
            if maximum.value is not None:
                derived[series] = maximum.value
        if self._needs_resets and self._witnesses and "resets_total" not in own:
            derived[_RESETS] = self._resets
        return derived

    def histograms(self) -> dict[str, tuple[tuple[int, ...], float]]:
        """Distributions by catalogue key."""
        return {key: distribution.cumulative() for key, distribution in self._distributions.items()}

    def _integrate(self, series: Series, timestamp: float, rate: float, *, mean: bool) -> None:
        _obtain(self._integrals, series, Integral).add(timestamp, rate, self._limit_s, mean=mean)

    def _add_throttling(self, values: Mapping[Series, Number], timestamp: float) -> None:
        if _has(values, "throttle_seconds_total"):
            return
        for series, active in values.items():
            if series[0] == "throttle_active":
                timed = ("throttle_seconds_total", *series[1:])
                self._integrate(timed, timestamp, 1.0 if active else 0.0, mean=True)

    def _add_maxima(self, values: Mapping[Series, Number], timestamp: float) -> None:
        windows = _by_quantity(Kind.GAUGE)
        for series, value in values.items():
            derived = windows.get(series[0])
            if derived is not None:
                _obtain(self._maxima, (derived, *series[1:]), RollingMax).add(timestamp, value)

    def _add_distributions(self, values: Mapping[Series, Number]) -> None:
        for source, derived in _by_quantity(Kind.HISTOGRAM).items():
            value = values.get((source,))
            if value is not None:
                make = partial(Distribution, by_key()[derived].buckets)
                _obtain(self._distributions, derived, make).add(value)

    def _count_resets(self, values: Mapping[Series, Number]) -> None:
        now = {s: value for s, value in values.items() if s[0] in _RESET_WITNESSES}
        if any(value < self._witnesses.get(series, value) for series, value in now.items()):
            self._resets += 1
        self._witnesses.update(now)


# The catalogue is constant, so the result is never invalid.
@cache
def _by_quantity(kind: Kind) -> dict[str, str]:
    """What of this kind is made of a quantity over time."""
    return {quantity: derived for derived, quantity in made_over_time(kind).items()}


def _has(values: Mapping[Series, Number], key: str) -> bool:
    return any(series[0] == key for series in values)


def _obtain(mapping: dict[_K, _V], key: _K, make: Callable[[], _V]) -> _V:
    if key not in mapping:
        mapping[key] = make()
    return mapping[key]
