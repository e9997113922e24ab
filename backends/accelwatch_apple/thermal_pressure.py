"""Thermal pressure in macOS' words, and what each means for the GPU. Pure.

The levels are those of OSThermalNotification.h; powermetrics says the words, notifyutil the numbers.
NSProcessInfo has four words of its own for the same.
"""

import re
from types import MappingProxyType
from typing import NamedTuple

from accelwatch.base.errors import ReadError

KEY = "com.apple.system.thermalpressurelevel"
_LEVELS = ("nominal", "moderate", "heavy", "trapping", "sleeping")
_STATE = re.compile(rf"{re.escape(KEY)}\s+(\d{{1,20}})")


class Meaning(NamedTuple):
    """What a word says."""

    throttled: bool
    health: str


# Another word is shown and means nothing.
MEANINGS = MappingProxyType(
    {
        "nominal": Meaning(throttled=False, health="ok"),
        **dict.fromkeys(("moderate", "fair"), Meaning(throttled=True, health="ok")),
        **dict.fromkeys(
            ("heavy", "trapping", "sleeping", "serious", "critical"),
            Meaning(throttled=True, health="degraded"),
        ),
    }
)


def pressure_of_state(output: bytes) -> str | None:
    """The word for what `notifyutil -g` says; None for a level that has none.

    Raises ReadError for what is no state.
    """
    match = _STATE.search(output.decode("utf-8", "replace"))
    if match is None:
        raise ReadError("notifyutil reported no thermal pressure", code="garbage")
    level = int(match[1])
    return _LEVELS[level] if level < len(_LEVELS) else None
