"""One fault often prints a burst of lines: equal ones within a time are one event."""

from accelwatch_kernel_log.memory import Memory
from accelwatch_kernel_log.pattern import Found

_PLACE = ("gpu_instance", "compute_instance", "link", "ring", "engine", "socket", "die")
"""Parts that say where in a device a fault is: two links that fail at once are two faults."""
_VICTIM = "pid"
_ASKED = frozenset({"xid_119"})
"""Codes whose process is whoever asked next, often a monitor: it tells nothing of the fault."""


class Fold:
    """Makes a burst of equal messages one event: the first is let through, the others are not."""

    def __init__(self) -> None:
        self._seen: Memory[float] = Memory()

    def admit(self, found: Found, seconds: float, *, trusted: bool) -> bool:
        """Whether this is the first of its kind within its time.

        A record of user space never hides one of the kernel, nor a lesser category a graver one, nor
        a message without a process one that names whom the fault hit.
        """
        key = "\0".join((found.subject, found.fault, found.category, str(trusted), *_parts(found)))
        first = self._seen.get(key)
        if first is not None and 0 <= seconds - first < found.fold_s:
            return False
        self._seen.put(key, seconds)
        return True


def _parts(found: Found) -> list[str]:
    names = _PLACE if found.code in _ASKED else (*_PLACE, _VICTIM)
    return [found.detail.get(name, "") for name in names]
