"""Durations and sizes as people write them, in configuration and on command lines."""

import re

from accelwatch.base.errors import UsageError

# Between two readings: more often, drivers do little else.
LEAST_INTERVAL_S = 0.25
_DURATION = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(ms|s|m|h|d)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, None: 1.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)
_POWER = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def is_duration(text: str) -> bool:
    """Whether text reads as a duration (`2`, `2s`, `500ms`)."""
    return _DURATION.fullmatch(text.strip()) is not None


def seconds(text: str) -> float:
    """`2`, `2s`, `500ms`, `5m` in seconds. Raises UsageError."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{text!r} is not a valid duration; write 2, 2s, 500ms or 5m")
    return float(match[1]) * _SECONDS[match[2]]


def seconds_with_unit(text: str) -> float:
    """`30s`, `2h`, `1d` in seconds, where a bare number would be misread. Raises UsageError."""
    number = text.strip()
    if _DURATION.fullmatch(number) is None:
        raise UsageError(f"{text!r} is not a valid duration; write 30s, 5m, 2h or 1d")
    value = seconds(text)
    if not number[-1:].isalpha():
        raise UsageError(f"{number!r} has no unit; write {number}m, {number}h or {number}d")
    return value


def reading_interval(text: str) -> float:
    """A duration between two readings of devices, in seconds. Raises UsageError for one too short."""
    value = seconds(text)
    if value < LEAST_INTERVAL_S:
        raise UsageError(f"an interval of {text} is too short; write 250ms or more")
    return value


def deadline(text: str) -> float:
    """A duration that something may be waited for, in seconds: above 0, an hour at most.

    Raises UsageError.
    """
    value = seconds(text)
    if not 0 < value <= 3600:
        raise UsageError(f"a timeout of {text} is out of range; write 10ms to 1h")
    return value


def size_bytes(text: str) -> int:
    """`10GiB`, `10G` (binary), `500MB` (decimal), plain bytes. Raises UsageError."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{text!r} is not a valid size; write 10GiB, 500MiB or plain bytes")
    decimal = text.strip().lower().endswith("b") and match[2] != "" and not match[3]
    return int(float(match[1]) * (1000 if decimal else 1024) ** _POWER[match[2].lower()])
