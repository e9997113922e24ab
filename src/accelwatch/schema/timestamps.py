"""Timestamps as people and documents write them: RFC 3339 in UTC."""

import datetime

from accelwatch.base.errors import WireError


def timestamp(unix_s: float) -> str:
    """Unix seconds as RFC 3339 in UTC with milliseconds."""
    utc_time = datetime.datetime.fromtimestamp(unix_s, datetime.UTC)
    return utc_time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def unix_seconds(text: str) -> float:
    """The inverse of `timestamp`. Raises WireError."""
    try:
        return datetime.datetime.fromisoformat(text).timestamp()
    except (TypeError, ValueError) as error:
        raise WireError(f"not a time: {text!r}") from error


def timestamp_or_none(unix_s: float | None) -> str | None:
    """As `timestamp`; None for 0, an unknown time, and for a time beyond the calendar."""
    if not unix_s:
        return None
    try:
        return timestamp(unix_s)
    except (ValueError, OverflowError, OSError):
        return None
