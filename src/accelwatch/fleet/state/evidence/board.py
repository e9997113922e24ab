"""Evidence that others have pushed about nodes and devices and that is not over."""

import math
from collections.abc import Callable, Iterator

import msgspec

from accelwatch.schema.event import ErrorEvent

# More at one time are refused: somebody's alerts must not fill the hub.
MAX_ACTIVE = 4096
# In `detail` of an event in the log for a start or an end; rules read the board.
STANDS = "stands"


class ReceivedAlert(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence that has started."""

    # What its end is known by.
    key: str
    node: str
    # Its time is the beginning.
    event: ErrorEvent
    # Unix seconds at which it expires unless it is pushed again.
    until: float


class EvidenceBoard:
    """All evidence that stands, by key; the loop's thread only."""

    def __init__(self, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._active: dict[str, ReceivedAlert] = {}
        self._next_end = math.inf

    def __len__(self) -> int:
        return len(self._active)

    def get(self, key: str) -> ReceivedAlert | None:
        """One that stands now."""
        self._forget_old()
        return self._active.get(key)

    def activate(self, alert: ReceivedAlert) -> bool:
        """Add it or prolong it; whether there is room."""
        self._forget_old()
        if alert.key not in self._active and len(self._active) >= MAX_ACTIVE:
            return False
        before = self._active.get(alert.key)
        if before is not None:
            event = msgspec.structs.replace(alert.event, time=before.event.time)
            alert = msgspec.structs.replace(alert, event=event)
        self._active[alert.key] = alert
        self._next_end = min(self._next_end, alert.until)
        return True

    def resolve(self, key: str) -> ReceivedAlert | None:
        """It is over; what it was, or None if nothing stood."""
        self._forget_old()
        return self._active.pop(key, None)

    def all(self) -> Iterator[ReceivedAlert]:
        """Those that stand now, in the order in which they began."""
        self._forget_old()
        return iter(tuple(self._active.values()))

    def _forget_old(self) -> None:
        now = self._wall()
        if now < self._next_end:
            return
        self._active = {key: alert for key, alert in self._active.items() if alert.until > now}
        self._next_end = min((alert.until for alert in self._active.values()), default=math.inf)
