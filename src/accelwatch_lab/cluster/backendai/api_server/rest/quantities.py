"""Sizes and durations as users write them: `16g`, `7d`."""

from collections.abc import Mapping
from typing import Any

from accelwatch_lab.cluster.backendai.api_server import problems

_BYTES = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def slots_of(resources: Mapping[str, Any]) -> dict[str, int]:
    """Counts by slot, memory in bytes. Raises RequestError."""
    return {slot: _scaled(value, _BYTES) for slot, value in resources.items()}


def seconds_of(value: Any) -> float:
    """A duration. Raises RequestError."""
    return float(_scaled(value, _SECONDS))


def _scaled(value: Any, units: Mapping[str, int]) -> int:
    text = str(value).lower()
    unit = units.get(text[-1:], 0)
    try:
        return int(float(text[:-1] if unit else text) * (unit or 1))
    except ValueError:
        raise problems.invalid(f"{value!r} is no quantity") from None
