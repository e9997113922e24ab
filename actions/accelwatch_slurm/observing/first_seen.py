"""Since when something has been seen to be so."""

from typing import Generic, TypeVar

from accelwatch.base.clock import Clock

MOST_REMEMBERED = 1024
_Key = TypeVar("_Key")


class FirstSeen(Generic[_Key]):
    """By key, the monotonic seconds of the first poll; a table that has grown too large is cleared."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[_Key, float] = {}

    def elapsed_s(self, key: _Key) -> float:
        """Seconds since it was first seen to be so; 0 at the first poll."""
        if len(self._since) > MOST_REMEMBERED:
            self._since.clear()
        now = self._clock.monotonic()
        return now - self._since.setdefault(key, now)

    def forget(self, key: _Key) -> None:
        """It is not so any more."""
        self._since.pop(key, None)
