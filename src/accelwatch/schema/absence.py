"""Why a value is not there. A value is never 0, -1, NaN or a missing key for something unknown."""

from enum import StrEnum


class Absence(StrEnum):
    """The eight reasons; the words are part of the JSON interface."""

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
