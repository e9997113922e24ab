"""Whether a device is hot: near a limit that it reports itself, never a guessed limit. Pure."""

from collections.abc import Mapping

from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

# So near to where it slows itself down, or shuts itself down, a device counts as hot.
MARGIN_CELSIUS = 3.0
_LIMITS = frozenset({"slowdown", "shutdown"})


def near_limit(celsius: Number | None, limit_celsius: Number | None) -> bool | None:
    """Whether a temperature is within the margin of its limit; None where either is unknown."""
    if celsius is None or limit_celsius is None:
        return None
    return celsius >= limit_celsius - MARGIN_CELSIUS


def within_margin(headroom_celsius: Number | None) -> bool | None:
    """Whether a device that reports only its distance to the limit is near; None if it reports none."""
    return None if headroom_celsius is None else headroom_celsius <= MARGIN_CELSIUS


def is_hot(values: Mapping[Series, Number]) -> bool | None:
    """Whether any sensor is near its own limit; None where the device reports no such limit."""
    result = within_margin(values.get(("temperature_headroom_celsius",)))
    for series, limit in values.items():
        if series[0] == "temperature_limit_celsius" and series[2] in _LIMITS:
            near = near_limit(values.get(("temperature_celsius", series[1])), limit)
            result = near if result is None else result or bool(near)
    return result
