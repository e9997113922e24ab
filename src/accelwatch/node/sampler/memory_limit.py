"""Whether a collector uses too much memory: a slow leak has no culprit, a sudden growth has."""

from typing import NamedTuple

from accelwatch.node.store.usage import resident_bytes

# A growth by half of what is allowed since the check before is the work of one call; checks within
# about this time count as one.
_SUDDEN_S = 1.0


class Excess(NamedTuple):
    """More memory than is allowed."""

    resident_bytes: int
    # Whether most of it came at once, so that the call in flight is to blame.
    is_sudden: bool


class MemoryLimit:
    """Compares a process with what is allowed, and with itself a moment before."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._resident_bytes = 0
        # Monotonic seconds.
        self._checked_at = 0.0

    def restart(self, now: float) -> None:
        """Another process begins now, from nothing."""
        self._resident_bytes, self._checked_at = 0, now

    def check(self, pid: int, now: float) -> Excess | None:
        """How much too much a process has; None while that is allowed."""
        resident = resident_bytes(pid)
        if resident > self._limit_bytes:
            return Excess(resident, resident - self._resident_bytes > self._limit_bytes // 2)
        if now - self._checked_at > _SUDDEN_S:
            self._resident_bytes, self._checked_at = resident, now
        return None
