"""Fast devices one after another, slow ones side by side.

Workers that fight for the interpreter cost twice the processor time of workers in turn; a driver
that lets its callers wait costs least when all of them wait at once.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Lock

from accelwatch.node.sampler.protocol.call_registry import Inside

# How long a worker waits while nobody gets on. A hung device delays each other one by no more.
PATIENCE_S = 0.004
# The same while a culprit is looked for: for most slow devices, and for eight beside a hung one.
CAREFUL_PATIENCE_S = 0.05
# The same for a backend that is brought up, which loads modules and libraries.
CAREFUL_OPENING_S = 1.0
# How many turns that goes on; eight devices pass them in a minute.
CAREFUL_TURNS = 512


class Gate:
    """Let workers through one by one for as long as they get on."""

    def __init__(
        self,
        patience_s: float = PATIENCE_S,
        *,
        inside: Inside | None = None,
        careful: bool = False,
    ) -> None:
        # Held during a driver call while calls are made in sequence. A holder that hangs is passed
        # after a patience, so it delays the others and does not stop them.
        self._lock = Lock()
        self._patience_s = patience_s
        self._inside = inside or Inside()
        self._careful_until = CAREFUL_TURNS if careful else 0
        self._passed = 0

    @contextmanager
    def turn(self, *, opening: bool = False) -> Iterator[None]:
        """Work alone, or beside the others once none of them has finished for the time of patience."""
        waited = self._wait(CAREFUL_OPENING_S if opening else CAREFUL_PATIENCE_S)
        try:
            with self._inside.call():
                yield
        finally:
            self._passed += 1
            if waited:
                self._lock.release()

    def beside(self) -> AbstractContextManager[None]:
        """Work at once, beside whoever works."""
        return self._inside.call()

    def _wait(self, careful_s: float) -> bool:
        passed = self._passed
        while not self._lock.acquire(timeout=self._patience(careful_s)):
            if self._passed == passed:
                return False
            passed = self._passed
        return True

    def _patience(self, careful_s: float) -> float:
        return careful_s if self._passed < self._careful_until else self._patience_s
