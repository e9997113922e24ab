"""How long to wait before asking again: twice as long each time, at random, never beyond a limit."""

import random

_FIRST_S = 0.5
_MAX_DOUBLINGS = 16


class Backoff:
    """Waits of one target."""

    def __init__(self, limit_s: float, pick: random.Random | None = None) -> None:
        self._limit_s = limit_s
        self._pick = pick or random.Random()  # noqa: S311 - spreads load, keeps no secret
        self._failures = 0

    def succeeded(self) -> None:
        """Begin anew."""
        self._failures = 0

    def next(self, asked_s: float | None = None) -> float:
        """Seconds until the next attempt; at least what the target asked for (`Retry-After`)."""
        whole = min(_FIRST_S * 2.0 ** min(self._failures, _MAX_DOUBLINGS), self._limit_s)
        self._failures += 1
        wait = whole * self._pick.uniform(0.5, 1.0)
        return wait if asked_s is None else max(wait, asked_s + self._pick.uniform(0.0, 1.0))
