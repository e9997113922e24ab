"""What is kept of an origin of a store between two reads."""

from collections import deque
from collections.abc import Iterable

from accelwatch.exposition import Key
from accelwatch.fleet.dialects.foreign import ForeignReader
from accelwatch.fleet.tsdb.assembly import LOOKBACK_DELTA_S, Group

# Samples that are closer than this are one scrape's.
_LEAST_STEP_S = 0.05
# Distances between samples that the interval is the median of.
_STEPS = 7


class OriginCache:
    """What is kept of an origin between reads."""

    __slots__ = ("_key_groups", "_steps", "keys", "odd", "reader", "stamp")

    def __init__(self) -> None:
        self.reader = ForeignReader()
        self.stamp: float | None = None
        # Whether it was logged that its samples cannot be read.
        self.odd = False
        self._steps: deque[float] = deque(maxlen=_STEPS)
        self._key_groups: tuple[object, ...] = ()
        self.keys: tuple[Key, ...] = ()

    def keys_of(self, groups: Iterable[Group]) -> tuple[Key, ...]:
        """The keys of its groups one after the other; the same object while they stay."""
        key_groups = tuple(group.keys for group in groups)
        if len(key_groups) != len(self._key_groups) or any(
            current is not before
            for current, before in zip(key_groups, self._key_groups, strict=True)
        ):
            self._key_groups = key_groups
            self.keys = tuple(key for keys in key_groups for key in keys)
        return self.keys

    def aged(self, stamp: float) -> None:
        """Record when the newest samples were made."""
        if self.stamp is not None and stamp - self.stamp > _LEAST_STEP_S:
            self._steps.append(min(stamp - self.stamp, LOOKBACK_DELTA_S))
        self.stamp = stamp

    @property
    def interval_s(self) -> float:
        """How often samples come: the usual one of the last distances, so that no odd one stays."""
        return sorted(self._steps)[(len(self._steps) - 1) // 2] if self._steps else 0.0
