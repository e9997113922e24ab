"""Fast devices one after another, slow ones side by side.

Workers that fight for the interpreter cost twice the processor time of workers that take turns; a driver
that lets its callers wait costs least when all of them wait at once.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

PATIENCE_S = 0.004
"""How long a worker waits while nobody gets on. A hung device delays each other one by no more."""


class Gate:
    """Let workers through one by one for as long as they get on."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._lock = Lock()
        self._patience_s = patience_s
        self._passed = 0

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Work alone, or beside the others once none of them has finished for the time of patience."""
        held = self._wait()
        try:
            yield
        finally:
            self._passed += 1
            if held:
                self._lock.release()

    def _wait(self) -> bool:
        passed = self._passed
        while not self._lock.acquire(timeout=self._patience_s):
            if self._passed == passed:
                return False
            passed = self._passed
        return True
