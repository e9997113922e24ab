"""Why a value is not there. A value is never 0, -1, NaN or a missing key for something unknown."""

from enum import Enum


class Absence(Enum):
    """The eight reasons; the words are part of the JSON interface.

    No `str`, so that what a file or driver said is never mistaken for why it said nothing.
    """

    UNSUPPORTED = "unsupported"
    """The device, driver or library cannot give this quantity."""
    PERMISSION = "permission"
    """It exists, but this user may not read it."""
    TIMEOUT = "timeout"
    """The call did not come back before its deadline."""
    LOST = "lost"
    """The device is gone."""
    SUSPENDED = "suspended"
    """The device sleeps and was not woken."""
    ERROR = "error"
    """The driver answered with an error, or with a value that cannot be true."""
    STALE = "stale"
    """The last value is too old to be shown as current."""
    NOT_COLLECTED = "not_collected"
    """Nobody asked for it: an opt-in group, or a quantity that needs two readings."""

    __hash__ = object.__hash__
    """Members are single; Enum's own hash is computed in Python at each look into a mapping."""

    def __str__(self) -> str:
        """The word."""
        return self.value
