"""Waits for what another thread does."""

import threading
import time
from collections.abc import Callable

# When a condition has not come true by then, the test has failed.
GUARD_S = 60.0


def wait_until(condition: Callable[[], object]) -> None:
    """Return as soon as the condition is true; after a minute the test fails."""
    pause = threading.Event()
    end = time.monotonic() + GUARD_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not come true")
        pause.wait(0.02)
