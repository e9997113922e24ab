"""Looking until something is so, with an end to it."""

import time
from collections.abc import Callable

from accelwatch.base.errors import AccelwatchError

_POLL_EVERY_S = 0.05


class WaitTimeoutError(AccelwatchError):
    """Something did not come about in time; the message says what."""


def until(is_so: Callable[[], object], what: str, seconds: float = 60.0) -> None:
    """Poll until it is so. Raises NotSeenError after `seconds`."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise WaitTimeoutError(f"not seen within {seconds:g} s: {what}")
        time.sleep(_POLL_EVERY_S)
