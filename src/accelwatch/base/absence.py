"""Why a value is not there. A value is never 0, -1, NaN or a missing key for something unknown."""

from collections.abc import Mapping
from enum import Enum


class Absence(Enum):
    """The eight reasons; the words are part of the JSON interface.

    No `str`, so that what a file or driver said is never mistaken for why it said nothing.
    """

    # The device, driver or library cannot give this quantity.
    UNSUPPORTED = "unsupported"
    # It exists, but this user may not read it.
    PERMISSION = "permission"
    # The call did not come back before its deadline.
    TIMEOUT = "timeout"
    # The device is gone.
    LOST = "lost"
    # The device sleeps and was not woken.
    SUSPENDED = "suspended"
    # The driver answered with an error, or with a value that cannot be true.
    ERROR = "error"
    # The last value is too old to be shown as current.
    STALE = "stale"
    # It was not requested: an opt-in group, or a quantity that needs two readings.
    NOT_COLLECTED = "not_collected"

    # Members are single; Enum's own hash is computed in Python at each look into a mapping.
    __hash__ = object.__hash__

    def __str__(self) -> str:
        """The word."""
        return self.value


_TEXTS = {
    Absence.UNSUPPORTED: "the device, driver or exporter does not give it",
    Absence.PERMISSION: "no permission to read it",
    Absence.TIMEOUT: "the driver did not answer in time",
    Absence.LOST: "the device is gone",
    Absence.SUSPENDED: "the device sleeps",
    Absence.ERROR: "the driver gave an error, or what cannot be true",
    Absence.STALE: "the last value is too old",
    Absence.NOT_COLLECTED: "not requested: an opt-in group, or it needs two readings",
}


def reason_of(absent: Mapping[tuple[str, ...], Absence], series: tuple[str, ...]) -> str:
    """Why a series has no value, the word first; empty where that is not known."""
    keys = (series, series[:1], ("*",))
    absence = next((absent[key] for key in keys if key in absent), None)
    return "" if absence is None else f"{absence} ({_TEXTS[absence]})"
