"""The server's clock, which may be wrong, and its times as text: RFC 3339, whole seconds."""

import time
from datetime import UTC, datetime


class Clock:
    """What time the server believes it is."""

    def __init__(self) -> None:
        # Seconds that it is ahead of this machine's.
        self.skew_s = 0.0

    def now(self) -> float:
        """Unix seconds."""
        return time.time() + self.skew_s

    def text(self, later_s: float = 0.0) -> str:
        """The time now, or so much later."""
        return timestamp(self.now() + later_s)


def timestamp(at: float) -> str:
    """Unix seconds as `2026-11-28T21:24:47Z`."""
    return datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds(text: str) -> float:
    """Unix seconds of a time of an object, with or without a fraction."""
    return datetime.fromisoformat(text).timestamp()
