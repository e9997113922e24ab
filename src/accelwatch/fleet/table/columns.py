"""What the values of a device's tick mean, held once for all devices of the same kind.

A fleet has few kinds of device and many devices; names are shared, numbers are not.
"""

import weakref
from collections.abc import Sequence

from accelwatch.base.absence import Absence
from accelwatch.fleet.table.pick import Pick
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import in_catalogue, may_be_absent
from accelwatch.schema.stream.compact import REASONS, Layout
from accelwatch.schema.values.plausible import bounds

_MAX_PICKS = 8


class Columns:
    """Series of a layout, where each stands in a tick, what it may be, which never have a value.

    An agent of another version may say what this catalogue does not have, or has with other labels:
    such a series keeps its position in a tick and has no value here.
    """

    __slots__ = ("__weakref__", "_picks", "absent", "index", "limits", "of_key", "series")

    def __init__(self, series: Sequence[Series], absent: Sequence[tuple[Series, str]]) -> None:
        self.series = tuple(series)
        self.index = {
            key: position for position, key in enumerate(self.series) if in_catalogue(key)
        }
        self.of_key: dict[str, list[int]] = {}
        for key, position in self.index.items():
            self.of_key.setdefault(key[0], []).append(position)
        self.limits = tuple(bounds(key[0]) for key in self.series)
        self.absent = {
            key: REASONS.get(letter, Absence.ERROR) for key, letter in absent if may_be_absent(key)
        }
        self._picks: dict[tuple[Series, ...], Pick] = {}

    def pick(self, requested: tuple[Series, ...]) -> Pick:
        """Where the wanted series stand; kept for repeated requests."""
        pick = self._picks.get(requested)
        if pick is None:
            if len(self._picks) >= _MAX_PICKS:
                self._picks.clear()
            positions = [self.index.get(key) for key in requested]
            pick = self._picks[requested] = Pick(requested, positions, len(self.series))
        return pick


class ColumnStore:
    """Hands out the same columns for equal layouts; forgets those that nobody uses."""

    def __init__(self) -> None:
        # Equal layouts share columns and picks. Weak: the last device of a layout frees its columns
        # too.
        self._cached: weakref.WeakValueDictionary[object, Columns] = weakref.WeakValueDictionary()

    def of(self, layout: Layout) -> Columns:
        """The columns of a layout."""
        key = (layout.series, layout.absent)
        columns = self._cached.get(key)
        if columns is None:
            columns = self._cached[key] = Columns(layout.series, layout.absent)
        return columns

    def __len__(self) -> int:
        return len(self._cached)
