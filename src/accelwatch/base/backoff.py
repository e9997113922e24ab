"""How long to wait before something that failed is tried again: twice as long each time, up to a limit.

`Backoff` is exact, for what is tried on this machine and polled by time. `SpreadBackoff` waits up to
that long, at random, so that thousands who lost the same server do not come back to it at once.
"""

import functools
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

FIRST_S = 1.0
LIMIT_S = 60.0
FIRST_SPREAD_S = 0.5
_MAX_RETRY_AFTER_S = 3600.0
# Beyond it a power of two would overflow some day; every limit is reached long before.
_MAX_DOUBLINGS = 32


def doubled(first_s: float, failures: int, limit_s: float) -> float:
    """Pause after so many failures in a row, of which there is at least one."""
    return min(first_s * 2.0 ** min(failures - 1, _MAX_DOUBLINGS), limit_s)


class Backoff:
    """Growing pauses between attempts: 1, 2, 4 ... 60 s by default; a success forgets them."""

    def __init__(self, first_s: float = FIRST_S, limit_s: float = LIMIT_S, free: int = 0) -> None:
        self._first_s = first_s
        self._limit_s = limit_s
        self._free = free
        self.failures = 0
        # Moment before which nothing should be tried.
        self.until = -math.inf

    def failed(self, now: float) -> float:
        """Note a failure; returns the pause in seconds (0 for the first `free` failures)."""
        self.failures += 1
        counted = self.failures - self._free
        pause = doubled(self._first_s, counted, self._limit_s) if counted > 0 else 0.0
        self.until = now + pause
        return pause

    def succeeded(self) -> None:
        """Forget all failures."""
        self.failures = 0
        self.until = -math.inf

    def ready(self, now: float) -> bool:
        """Whether the pause is over."""
        return now >= self.until


class SpreadBackoff:
    """Waits of a server's client: between half and all of 0.5, 1, 2 ... seconds, up to `limit_s`."""

    def __init__(self, limit_s: float, random: "Random | None" = None) -> None:
        self._limit_s = limit_s
        self._random = random or _shared_random()
        self._failures = 0

    def succeeded(self) -> None:
        """Reset to the first delay."""
        self._failures = 0

    def next(self, retry_after_s: float | None = None) -> float:
        """Seconds until the next attempt; at least what the server demands (`Retry-After`)."""
        self._failures += 1
        delay = doubled(FIRST_SPREAD_S, self._failures, self._limit_s)
        wait = delay * self._random.uniform(0.5, 1.0)
        return (
            wait
            if retry_after_s is None
            else max(wait, retry_after_s + self._random.uniform(0.0, 1.0))
        )


# Built on first use, because `random` costs milliseconds to import.
@functools.cache
def _shared_random() -> "Random":
    """One for all, as each holds 2.5 KiB."""
    from random import Random

    return Random()  # noqa: S311 - spreads load, keeps no secret


def retry_after(header: str | None, now: float) -> float | None:
    """Seconds of a Retry-After header: a number or a date (RFC 9110, 10.2.3), bounded."""
    if not header:
        return None
    import email.utils

    text = header.strip()
    if text.isascii() and text.isdecimal():
        return min(float(text[:9]), _MAX_RETRY_AFTER_S)
    try:
        retry_at = email.utils.parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
    return min(max(retry_at - now, 0.0), _MAX_RETRY_AFTER_S)
