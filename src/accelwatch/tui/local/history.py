"""What devices did in the last five minutes and the last hour, in rings of fixed size.

A ring keeps the greatest value of each stretch of time, so spikes survive. A device costs 10 KiB.
"""

import math
from array import array
from collections.abc import Callable, Iterable

from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.reading import Reading
from accelwatch.schema.series import primary_value
from accelwatch.schema.snapshot import DeviceView
from accelwatch.tui.drawing import format as fmt

# What is kept; `memory_ratio` is used of size.
TRACKED = ("utilization_ratio", "memory_ratio", "power_watts", "temperature_celsius", "clock_hertz")
FINE_S, FINE_SIZE = 1, 300
COARSE_S, COARSE_SIZE = 20, 180
# A value stands at most this long until the next one; a longer gap stays empty.
GAP_FILL_S = 12.0


class Ring:
    """The greatest value of several quantities in each of `size` stretches of `width_s` seconds."""

    def __init__(self, width_s: int, size: int, quantities: int) -> None:
        self._width_s = width_s
        self._size = size
        self._quantities = quantities
        self._values = array("f", [math.nan]) * (size * quantities)
        self._last: int | None = None

    def add(self, timestamp: float, values: tuple[float, ...]) -> None:
        """Add values; the slots since the last ones get them too if they are few."""
        now = int(timestamp // self._width_s)
        if self._last is None or now < self._last:
            self._last = now - 1
        within = (now - self._last) * self._width_s <= GAP_FILL_S
        for stretch in range(max(self._last + 1, now - self._size + 1), now + 1):
            blank = not within and stretch != now
            self._write(stretch, None if blank else values)
        if now == self._last:
            self._raise(now, values)
        self._last = now

    def _write(self, stretch: int, values: tuple[float, ...] | None) -> None:
        start = (stretch % self._size) * self._quantities
        row = values or (math.nan,) * self._quantities
        self._values[start : start + self._quantities] = array("f", row)

    def _raise(self, stretch: int, values: tuple[float, ...]) -> None:
        start = (stretch % self._size) * self._quantities
        for index, value in enumerate(values, start):
            before = self._values[index]
            if math.isnan(before) or value > before:
                self._values[index] = value

    def series(self, quantity: int, until: float, *, stands: bool = False) -> "array[float]":
        """`size` values up to the moment `until`, oldest first; NaN where nothing is known.

        With `stands` the last value is still true, and fills the time since, unless that is long.
        """
        points = array("f", [math.nan]) * self._size
        if self._last is None:
            return points
        end, last = int(until // self._width_s), self._last
        oldest = end - self._size + 1
        column = self._values[quantity :: self._quantities]
        first, newest = max(oldest, last - self._size + 1), min(end, last)
        if first <= newest:
            start, count = first % self._size, newest - first + 1
            stored = column[start : start + count]
            stored += column[: count - len(stored)]
            points[first - oldest : newest - oldest + 1] = stored
        if stands and last < end and (end - last) * self._width_s <= max(GAP_FILL_S, self._width_s):
            since = end - last
            points[-since:] = array("f", [column[last % self._size]]) * since
        return points


class _Track:
    """The rings of one device."""

    __slots__ = ("coarse", "fine", "latest", "sampled_at")

    def __init__(self) -> None:
        self.fine = Ring(FINE_S, FINE_SIZE, len(TRACKED))
        self.coarse = Ring(COARSE_S, COARSE_SIZE, len(TRACKED))
        self.sampled_at: float | None = None
        self.latest = -math.inf

    def add(self, timestamp: float, values: tuple[float, ...]) -> None:
        """Add values to both rings."""
        self.latest = timestamp
        self.fine.add(timestamp, values)
        self.coarse.add(timestamp, values)


class History:
    """Rings by device id. `record` wants every snapshot's devices; a reading counts once.

    A caller of `forget_unread` keeps none of devices that have not been read for an hour.
    """

    def __init__(self, tracked: Callable[[Reading], tuple[float, ...]] | None = None) -> None:
        self._tracks: dict[str, _Track] = {}
        self._tracked = tracked or tracked_values

    def record(self, views: Iterable[DeviceView]) -> None:
        """Add the devices' readings."""
        for view in views:
            timestamp = view.sample_time
            if timestamp is None or ("*",) in view.reading.absent:
                continue
            track = self._tracks.setdefault(view.device.id, _Track())
            if track.sampled_at == timestamp:
                continue
            track.sampled_at = timestamp
            track.add(timestamp, self._tracked(view.reading))

    def seed(self, device_id: str, readings: Iterable[tuple[float, Reading]]) -> None:
        """Restart a device with (Unix seconds, reading) from before, oldest first."""
        track = self._tracks[device_id] = _Track()
        for timestamp, reading in readings:
            track.add(timestamp, self._tracked(reading))

    def forget_unread(self, now: float) -> None:
        """Let go of devices of which there is nothing to show any more, as nothing came for an hour."""
        old = now - COARSE_S * COARSE_SIZE
        if any(track.latest < old for track in self._tracks.values()):
            self._tracks = {
                id_: track for id_, track in self._tracks.items() if track.latest >= old
            }

    def series(
        self, device_id: str, key: str, until: float, *, hour: bool = False, stands: bool = False
    ) -> "array[float]":
        """The five minutes, or the hour, before `until` of a tracked quantity, oldest first.

        NaN where nothing is known; with `stands` the last value is still the present one.
        """
        track = self._tracks.get(device_id)
        if track is None:
            return array("f", [math.nan])
        ring = track.coarse if hour else track.fine
        return ring.series(TRACKED.index(key), until, stands=stands)

    def __len__(self) -> int:
        """Devices of which something is kept."""
        return len(self._tracks)

    def clear(self) -> None:
        """Forget everything, as a jump in a recording needs."""
        self._tracks.clear()


def tracked_values(reading: Reading) -> tuple[float, ...]:
    """The tracked quantities of a reading; NaN for what it does not have."""
    values = reading.values
    size, used = values.get(("memory_size_bytes",)), values.get(("memory_used_bytes",))
    tracked = []
    for key in TRACKED:
        if key == "memory_ratio":
            value = used / size if size and used is not None else None
        elif key == "utilization_ratio":
            value = fmt.busy(reading)
        else:
            value = primary_value(values, by_key()[key])
        tracked.append(math.nan if value is None else float(value))
    return tuple(tracked)
