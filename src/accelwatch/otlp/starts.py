"""Since when a cumulative sum counts, of counters whose true beginning nobody knows.

The data model of OpenTelemetry ("Cumulative streams: handling unknown start time"): the first point, and
the first after a counter fell, begins a run at its own time; the points after it share that beginning.
"""

from collections.abc import Hashable

from accelwatch.schema.reading import Number


class Starts:
    """Of one node; between `start_round` and `finish_round`, a series that is not looked up is
    forgotten.
    """

    def __init__(self) -> None:
        self._previous: dict[Hashable, tuple[int, Number]] = {}
        self._current: dict[Hashable, tuple[int, Number]] = {}

    def start_round(self) -> None:
        """A round begins."""
        self._current = {}

    def of(self, series: Hashable, value: Number, time_ns: int, *, monotonic: bool) -> int:
        """The start of a series whose value is `value` at a time; both in Unix nanoseconds."""
        start, before = self._previous.get(series, (time_ns, value))
        if monotonic and value < before:
            start = time_ns
        self._current[series] = (start, value)
        return start

    def finish_round(self) -> None:
        """The round is over."""
        self._previous = self._current
