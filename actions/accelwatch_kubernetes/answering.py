"""Since when a kubelet has been observed to answer, without a break."""

from accelwatch.base.clock import Clock

_MOST = 1024


class AnswerTimes:
    """By node object; our restart clears the table, which only makes a fence slower."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # By uid of the node and the time of its last turn: monotonic seconds.
        self._since: dict[tuple[str, str], float] = {}

    def seconds(self, uid: str, turned: str, *, answers: bool) -> float:
        """For how long; `turned` is when its condition has last changed, as the server says it."""
        key = uid, turned
        if not answers:
            self._since.pop(key, None)
            return 0.0
        if len(self._since) >= _MOST:
            self._since.clear()
        now = self._clock.monotonic()
        return now - self._since.setdefault(key, now)
