"""What others have told of nodes and devices and is not over: evidence that stands."""

import math
from collections.abc import Callable, Iterator

import msgspec

from accelwatch.schema.event import ErrorEvent

MOST_STANDING = 4096
"""More at one time are refused: somebody's alerts must not fill the hub."""
STANDS = "stands"
"""In `detail` of an event in the log that tells of a beginning or an end; rules ask the board."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence that has begun."""

    key: str
    """What its end is known by."""
    node: str
    event: ErrorEvent
    """Its time is the beginning."""
    until: float
    """Unix seconds at which it is over unless it is told again."""


class EvidenceBoard:
    """All evidence that stands, by key; the loop's thread only."""

    def __init__(self, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._standing: dict[str, Standing] = {}
        self._next_end = math.inf

    def __len__(self) -> int:
        return len(self._standing)

    def get(self, key: str) -> Standing | None:
        """One that stands now."""
        self._forget_old()
        return self._standing.get(key)

    def begin(self, standing: Standing) -> bool:
        """Take it up or keep it longer; whether there is room."""
        self._forget_old()
        if standing.key not in self._standing and len(self._standing) >= MOST_STANDING:
            return False
        before = self._standing.get(standing.key)
        if before is not None:
            event = msgspec.structs.replace(standing.event, time=before.event.time)
            standing = msgspec.structs.replace(standing, event=event)
        self._standing[standing.key] = standing
        self._next_end = min(self._next_end, standing.until)
        return True

    def end(self, key: str) -> Standing | None:
        """It is over; what it was, or None if nothing stood."""
        self._forget_old()
        return self._standing.pop(key, None)

    def all(self) -> Iterator[Standing]:
        """Those that stand now, in the order in which they began."""
        self._forget_old()
        return iter(tuple(self._standing.values()))

    def _forget_old(self) -> None:
        now = self._wall()
        if now < self._next_end:
            return
        self._standing = {key: one for key, one in self._standing.items() if one.until > now}
        self._next_end = min((one.until for one in self._standing.values()), default=math.inf)
