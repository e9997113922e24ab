"""Failures of our own, logged once with a traceback and then counted: any client may repeat them."""

import logging

from accelwatch.base.clock import Clock

_AGAIN_S = 60.0
# Kinds of failure that are kept apart; the others share one.
_KINDS = 64


class FailureLog:
    """Logs failures of a server; the loop's thread only."""

    def __init__(self, logger: logging.Logger, clock: Clock) -> None:
        self._logger = logger
        self._clock = clock
        self._occurrences: dict[tuple[str, str, str], tuple[float, int]] = {}

    def log_failure(self, what: str, error: BaseException, where: str = "") -> None:
        """Log the failure: in full the first time, then one line a minute with the count."""
        kind = (what, type(error).__name__, where)
        now = self._clock.monotonic()
        if kind not in self._occurrences:
            if len(self._occurrences) >= _KINDS:
                kind = ("a request failed", "", "")
            else:
                self._occurrences[kind] = (now, 0)
                self._logger.error("%s%s", what, where and f" {where}", exc_info=error)
                return
        since, count = self._occurrences.get(kind, (now - _AGAIN_S, 0))
        count += 1
        if now - since >= _AGAIN_S:
            self._logger.error("%s again error=%s times=%d", what, type(error).__name__, count)
            since, count = now, 0
        self._occurrences[kind] = (since, count)
