"""Windows over the recent history of any series, on request: means, extremes, growth of counters.

A window ends at the moment of the newest samples and begins at the edge of a bucket of ten seconds, so
that it is up to one bucket longer than requested. The edges of different series are shifted by whole
seconds against each other: closing a bucket costs most, and so not all close at once. A row that is
given to another device, or whose device was exchanged or restarted, has no history.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from accelwatch.base.errors import UsageError
from accelwatch.expr.needs import MOST_BYTES
from accelwatch.expr.vocabulary.windows import LONGEST_S, WindowComponent, WindowKind
from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.buckets import BUCKET_S, CHUNK_ROWS
from accelwatch.fleet.table.jobs import Jobs
from accelwatch.fleet.table.rows import grown
from accelwatch.fleet.table.tracks import Sample, Track, bytes_a_row
from accelwatch.fleet.table.window import Pace, Window
from accelwatch.schema.metrics import Series
from accelwatch.schema.series import path_of

_SHOWN = 3


# What was in buckets, oldest first; None where there is nothing.
Steps = list[float | None]


class WindowsError(UsageError):
    """Requested windows would need too much memory; the text names the dearest."""


class Arrivals(NamedTuple):
    """Facts on rows beside their values, when samples are added; the arrays have one length."""

    # Rows that were ever used; those behind are empty.
    used: int
    # When each last reported, monotonic seconds; NaN of one that never did.
    arrived: Floats
    # How often each reports.
    interval_s: Floats
    generation: npt.NDArray[np.uint32]
    # Of what job each is, where that is known of any.
    jobs: Jobs | None = None


class Windows:
    """All windows over one table."""

    def __init__(self, tick_s: float = 1.0) -> None:
        """`tick_s` is how often samples are added, however often rows report."""
        self._tick_s = tick_s
        self._pace = Pace()
        # Rows for which there is room.
        self._rows = 0
        self._requested: list[Window] = []
        self._tracks: dict[Series, Track] = {}
        self._tracks_started = 0
        self._arrived: Floats = np.empty(0)
        self._generation: npt.NDArray[np.uint32] = np.empty(0, dtype=np.uint32)

    @property
    def series(self) -> tuple[Series, ...]:
        """What samples are needed of."""
        return tuple(self._tracks)

    @property
    def bytes(self) -> int:
        """Memory of all windows."""
        return self._rows * _row_bytes(self._requested)

    @property
    def left_out(self) -> int:
        """Rows for which there is no room: the fleet has outgrown the requested windows."""
        return max(0, self._pace.size - self._rows) if self._requested else 0

    def request(
        self,
        series: Series,
        seconds: float,
        kind: str,
        quantile: float = 0.5,
        *,
        of_job: bool = False,
    ) -> Window:
        """A window over the last seconds, rounded up to whole buckets. What was gathered before counts.

        With `of_job` nothing counts that was gathered before the job of a row began.

        The age of a value has no length, its seconds are 0. Raises UsageError for a length that makes
        no sense, WindowsError for one that needs too much.
        """
        window_kind = WindowKind(kind)
        if not (0 < seconds <= LONGEST_S or (window_kind is WindowKind.AGE and not seconds)):
            raise UsageError(f"a window is longer than 0 s and at most {LONGEST_S:g} s")
        track = self._tracks.get(series)
        if track is None:
            track = Track(self._tracks_started % BUCKET_S, self._rows, self._pace.now)
        count = math.ceil(seconds / BUCKET_S)
        window = Window(
            series, count, window_kind, track, self._pace, quantile=quantile, of_job=of_job
        )
        _check([*self._requested, window], max(self._rows, 1))
        self._tracks_started += series not in self._tracks
        self._tracks[series] = track
        self._requested.append(window)
        track.retain(self._components_of(series))
        return window

    def check(self, devices: int) -> None:
        """Raise WindowsError when a fleet of so many devices is too large for the requested windows."""
        _check(self._requested, devices)

    def release(self, window: Window) -> None:
        """Release a window: what is kept for it alone goes. It has no answers then."""
        self._requested.remove(window)
        self._tracks[window.series].retain(self._components_of(window.series))
        if all(other.series != window.series for other in self._requested):
            del self._tracks[window.series]

    def _components_of(self, series: Series) -> Mapping[WindowComponent, int]:
        return _components_for([window for window in self._requested if window.series == series])

    def sample(self, now: float, rows: Arrivals, values: Callable[[Series], Floats]) -> None:
        """Sample the rows' values at `now` (monotonic seconds), of those that reported since last time.

        `values` gives a series by row, NaN where there is none.
        """
        pace = self._pace
        pace.now, pace.size = now, len(rows.arrived)
        self._grow(rows.used)
        count = self._rows
        self._reset_replaced_rows(rows.generation[:count])
        arrived = rows.arrived[:count]
        pace.interval_s = np.maximum(rows.interval_s[:count], self._tick_s)
        new = (arrived != self._arrived) & ~np.isnan(arrived)
        self._arrived = arrived.copy()
        if rows.jobs is None:
            jobs = Jobs(np.zeros(count, dtype=np.uint32))
        else:
            jobs = Jobs(rows.jobs.of_row[:count], rows.jobs.shared)
        pace.starts.refresh(now, jobs, new)
        gap_s, any_new = 3 * pace.interval_s, bool(new.any())
        for series, track in self._tracks.items():
            track.roll(now)
            if any_new:
                fresh = np.where(new, values(series)[:count], math.nan)
                track.add(Sample(fresh, arrived), gap_s)

    def recent_means(self, row: int, count: int) -> tuple[dict[Series, Steps], dict[Series, Steps]]:
        """The values of a row in the last `count` buckets of all series with windows.

        Means of each bucket, oldest first; and of series of which only growth is kept, growth a second.
        A series without any number is left out.
        """
        values: dict[Series, Steps] = {}
        growth: dict[Series, Steps] = {}
        rows = np.array([row], dtype=np.intp)
        for series in self._tracks if row < self._rows else ():
            recent = self.recent(series, rows, count)
            if recent is None or np.isnan(recent[1]).all():
                continue
            grows, means = recent
            steps = [None if math.isnan(mean) else mean for mean in means[:, 0].tolist()]
            (growth if grows else values)[series] = steps
        return values, growth

    def recent(
        self, series: Series, rows: npt.NDArray[np.intp], count: int
    ) -> tuple[bool, Floats] | None:
        """The values of a series of some rows in the last `count` buckets; None for one without windows.

        As `Track.recent`; rows for which there is no room have no values.
        """
        track = self._tracks.get(series)
        if track is None:
            return None
        there = rows[rows < self._rows]
        values = np.full((count, len(rows)), math.nan)
        interval_s = self._pace.interval_s[there] if len(there) else np.empty(0)
        grows, values[:, rows < self._rows] = track.recent(there, count, interval_s)
        return grows, values

    def _grow(self, used: int) -> None:
        """Room for the rows that are used, as far as there may be."""
        needed = min(-(-used // CHUNK_ROWS) * CHUNK_ROWS, self._pace.size)
        if self._requested and needed > self._rows:
            needed = min(needed, MOST_BYTES // _row_bytes(self._requested))
        if needed > self._rows:
            self._rows = needed
            self._arrived = grown(self._arrived, needed, math.nan)
            self._generation = grown(self._generation, needed, 0)
            for track in self._tracks.values():
                track.grow(needed)

    def _reset_replaced_rows(self, generation: npt.NDArray[np.uint32]) -> None:
        """Forget what was gathered of rows in which something else stands now."""
        other = np.flatnonzero(generation != self._generation)
        if len(other):
            for track in self._tracks.values():
                track.clear(other)
            self._generation = generation.copy()


def _components_for(windows: Sequence[Window]) -> dict[WindowComponent, int]:
    """The components that windows of one series need, each as long as the longest."""
    lengths: dict[WindowComponent, int] = {}
    for window in windows:
        for component in window.components:
            lengths[component] = max(lengths.get(component, 0), window.count)
    return lengths


def _row_bytes(windows: Sequence[Window]) -> int:
    """Memory of windows for each row; those over one series share what they can."""
    by_series: dict[Series, list[Window]] = {}
    for window in windows:
        by_series.setdefault(window.series, []).append(window)
    return sum(bytes_a_row(_components_for(some)) for some in by_series.values())


def _check(windows: Sequence[Window], rows: int) -> None:
    total = rows * _row_bytes(windows)
    if total <= MOST_BYTES:
        return
    alone = {window: rows * bytes_a_row(_components_for([window])) for window in windows}
    dearest = ", ".join(
        f"{window.kind} of {path_of(window.series)} over {window.count * BUCKET_S} s ({_mib(size)})"
        for window, size in sorted(alone.items(), key=lambda pair: -pair[1])[:_SHOWN]
    )
    raise WindowsError(
        f"windows over {rows} devices would take {_mib(total)}, and the most is {_mib(MOST_BYTES)}; "
        f"the dearest are {dearest}: ask for shorter ones"
    )


def _mib(count: int) -> str:
    return f"{count / (1 << 20):.0f} MiB"
