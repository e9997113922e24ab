"""Waits for what another thread does."""

import threading
from collections.abc import Callable


def wait_until(condition: Callable[[], object]) -> None:
    """Return as soon as the condition is true; after ten seconds the test fails."""
    pause = threading.Event()
    for _ in range(500):
        if condition():
            return
        pause.wait(0.02)
    raise AssertionError("it did not come true")
