"""Looking until something is so, with an end to it."""

import time
from collections.abc import Callable

from accelwatch.base.errors import AccelwatchError

_LOOK_EVERY_S = 0.05


class NotSeenError(AccelwatchError):
    """Something did not come about in time; the message says what."""


def until(is_so: Callable[[], object], what: str, seconds: float = 60.0) -> None:
    """Look until it is so. Raises NotSeenError when that takes too long."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise NotSeenError(f"not seen within {seconds:g} s: {what}")
        time.sleep(_LOOK_EVERY_S)
