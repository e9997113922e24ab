"""A stretch of a recording for display: devices side by side on one time axis, with marks."""

import math
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from accelwatch.archive.blackbox.files import frozen_by_name
from accelwatch.archive.blackbox.markers import Marker, MarkerCollector
from accelwatch.archive.blackbox.partial_document import Item, PartialDocument, decode_partially
from accelwatch.archive.recording import Recording
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import WireError
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.device import BROKEN
from accelwatch.schema.series import flatten, primary_value

# The quantities of a device at each time; `memory_ratio` is used of size.
KEYS = ("utilization_ratio", "memory_ratio", "power_watts", "temperature_celsius")
# So long before the first document, and after the last, events belong to the moment.
_NEAR_S = 5.0
_READ = ("utilization_ratio", "power_watts", "temperature_celsius")


class Track(msgspec.Struct, frozen=True, kw_only=True):
    """One device over the times of the moment."""

    id: str
    name: str
    index: int
    # Of each time; empty before the device was known, and read.
    states: list[str]
    # By key of `KEYS`, one each time; NaN where there is none.
    values: dict[str, "array[float]"]


class Excerpt(msgspec.Struct, frozen=True, kw_only=True):
    """What a file holds of a stretch of time."""

    host: str
    # The time that it is about, Unix seconds.
    at: float
    # The device that it is about; empty: the machine.
    device_id: str
    # Unix seconds, ascending.
    times: "array[float]"
    # The device that it is about first, the others in the machine's order.
    tracks: tuple[Track, ...]
    # In the order of time.
    markers: tuple[Marker, ...]
    # Damage of the file, in words.
    notes: tuple[str, ...] = ()


def newest_time(path: Path) -> float | None:
    """The time of the last document, Unix seconds. Raises AccelwatchError."""
    with Recording.open(path) as recording:
        return recording.times()[-1] if len(recording) else None


def read_excerpt(
    path: Path,
    *,
    before_s: float,
    after_s: float,
    at: float | None = None,
    device_id: str = "",
) -> Excerpt:
    """What a file holds around `at` (Unix seconds), or around what froze it.

    It is about `device_id` where that is given and there, else about what froze it.
    Raises UsageError, AccelwatchError and WireError as `Recording.open` does.
    """
    with Recording.open(path) as recording:
        frozen = frozen_by_name(path, 0)
        about = at if at is not None else frozen.time if frozen else None
        times = recording.times()
        first, last = _index_range(times, about, before_s, after_s)
        building = _Building()
        for index in range(first, last):
            try:
                building.add(times[index], decode_partially(recording.line(index)))
            except (*DECODE_ERRORS, WireError):
                continue
        excerpt = building.build_excerpt(about, frozen.device if frozen else "", recording.notes)
    return _about(excerpt, device_id)


def _about(excerpt: Excerpt, device_id: str) -> Excerpt:
    """The same with that device first, if it is there."""
    own = [track for track in excerpt.tracks if track.id == device_id]
    if not own or excerpt.device_id == device_id:
        return excerpt
    others = sorted(
        (track for track in excerpt.tracks if track.id != device_id), key=lambda other: other.index
    )
    return msgspec.structs.replace(excerpt, device_id=device_id, tracks=(*own, *others))


def _index_range(
    times: Sequence[float], about: float | None, before_s: float, after_s: float
) -> tuple[int, int]:
    """The range of documents around `about`; all of them where it is unknown."""
    if about is None:
        return 0, len(times)
    selected = [index for index, time in enumerate(times) if -before_s <= time - about <= after_s]
    return (selected[0], selected[-1] + 1) if selected else (0, len(times))


class _Building:
    """Needs documents in the order of time."""

    def __init__(self) -> None:
        self._host = ""
        self._times: array[float] = array("d")
        self._tracks: dict[str, Track] = {}
        self._collector = MarkerCollector()

    def add(self, time: float, document: PartialDocument) -> None:
        """One document more."""
        count = len(self._times)
        self._times.append(time)
        self._host = document.host or self._host
        for item in document.devices:
            track = self._tracks.get(item.id) or self._new(item, count)
            track.states.append("" if item.is_awaited else item.state)
            for key, value in _values(item).items():
                track.values[key].append(value)
        for track in self._tracks.values():
            if len(track.states) <= count:
                track.states.append("")
                for values in track.values.values():
                    values.append(math.nan)
        self._collector.add(time, document)

    def _new(self, item: Item, count: int) -> Track:
        track = Track(
            id=item.id,
            name=item.name,
            index=item.index,
            states=[""] * count,
            values={key: array("f", [math.nan]) * count for key in KEYS},
        )
        self._tracks[item.id] = track
        return track

    def build_excerpt(self, about: float | None, name: str, notes: tuple[str, ...]) -> Excerpt:
        """The excerpt of all added documents. `name` is the device's in the file's name."""
        first, last = (self._times[0], self._times[-1]) if self._times else (0.0, 0.0)
        markers = tuple(
            marker
            for marker in self._collector.markers()
            if first - _NEAR_S <= marker.time <= last + _NEAR_S
        )
        bad = next((marker for marker in markers if marker.severity == "critical"), None)
        if about is None:
            about = bad.time if bad else last
        id_ = next(
            (candidate.id for candidate in self._tracks.values() if candidate.name.lower() == name),
            "",
        )
        if not id_ and not name and bad and bad.device_ids:
            id_ = bad.device_ids[0]
        order = {track.id: position for position, track in enumerate(self._tracks.values())}
        tracks = sorted(
            self._tracks.values(), key=lambda candidate: (candidate.id != id_, order[candidate.id])
        )
        return Excerpt(
            host=self._host,
            at=about,
            device_id=id_,
            times=self._times,
            tracks=tuple(tracks),
            markers=markers,
            notes=notes,
        )


def _values(item: Item) -> dict[str, float]:
    """The values of `KEYS`; NaN for what is not known, as it is of a broken device."""
    if item.state in BROKEN:
        return dict.fromkeys(KEYS, math.nan)
    values = {key: _primary(key, getattr(item, key)) for key in _READ}
    used, size = item.memory_used_bytes, item.memory_size_bytes
    is_measured = isinstance(used, int | float) and isinstance(size, int | float) and size > 0
    return {**values, "memory_ratio": used / size if is_measured else math.nan}


def _primary(key: str, raw: Any) -> float:
    row = by_key()[key]
    values = {
        series: value
        for series, value in flatten(key, raw, len(row.labels))
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    value = primary_value(values, row)
    return math.nan if value is None else float(value)
