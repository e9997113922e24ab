"""Waits for what another thread does."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# When a condition has not come true by then, the test has failed.
GUARD_S = 60.0


def wait_until(condition: Callable[[], T | None]) -> T:
    """What the condition returns, as soon as that is true; after a minute the test fails."""
    pause = threading.Event()
    end = time.monotonic() + GUARD_S
    while not (found := condition()):
        if time.monotonic() > end:
            raise AssertionError("it did not come true")
        pause.wait(0.02)
    return found
