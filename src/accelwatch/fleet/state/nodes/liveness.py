"""Whether a node is up, and how far its clock is off. Pure but for what is handed in."""

from collections import deque

import msgspec

from accelwatch.fleet.names import NodeState

# Above this the node's times are not shown as they are: those of arrival replace them.
SKEW_LIMIT_S = 60.0
_SAMPLES = 8
# The end of the year 9999, the last that a time can be written in.
LATEST_S = 253_402_300_799.0


class Thresholds(msgspec.Struct, frozen=True, kw_only=True):
    """Ages in seconds; a target read less often gets as many of its own intervals."""

    slow_s: float = 2.5
    stale_s: float = 10.0
    down_s: float = 30.0

    def state(self, age_s: float, interval_s: float) -> NodeState:
        """The state of a node whose newest data arrived `age_s` ago."""
        if age_s <= max(self.slow_s, 1.5 * interval_s + 1.0):
            return NodeState.UP
        if age_s <= max(self.stale_s, 3.0 * interval_s):
            return NodeState.SLOW
        return NodeState.STALE if age_s <= max(self.down_s, 6.0 * interval_s) else NodeState.DOWN


# Best first.
ORDER = (NodeState.UP, NodeState.SLOW, NodeState.STALE, NodeState.DOWN, NodeState.NEVER)


class Skew:
    """How far a node's clock runs ahead of ours: the largest of the last differences.

    A delay on the way only makes the difference smaller, so the largest is nearest to the truth.
    """

    __slots__ = ("_differences", "seconds")

    def __init__(self) -> None:
        self._differences: deque[float] | None = None
        self.seconds: float | None = None

    def observe(self, node_time: float, arrival: float) -> None:
        """A message written at `node_time` arrived at `arrival`, both Unix seconds."""
        if self._differences is None:  # most exporters do not say what time it is
            self._differences = deque(maxlen=_SAMPLES)
        self._differences.append(node_time - arrival)
        self.seconds = max(self._differences)

    def ours(self, node_time: float) -> float:
        """A time of the node on our clock; only a large skew is removed. 0.0, not known, stays so."""
        if node_time == 0.0 or self.seconds is None or abs(self.seconds) <= SKEW_LIMIT_S:
            return node_time
        return min(max(node_time - self.seconds, 0.0), LATEST_S)


def is_time(seconds: float) -> bool:
    """Whether a number can be Unix seconds: it is finite and of a year that can be written."""
    return 0.0 <= seconds <= LATEST_S
