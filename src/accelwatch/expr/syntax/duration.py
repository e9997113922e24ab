"""Durations in a rule: a number and a unit in quotes, checked when the rule is loaded."""

import re

_FORM = re.compile(r"\s*([0-9]{1,9}(?:\.[0-9]{1,3})?)\s*([A-Za-z]*)\s*")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_MEANT = {
    "sec": "s",
    "second": "s",
    "seconds": "s",
    "min": "m",
    "mins": "m",
    "minute": "m",
    "minutes": "m",
    "hour": "h",
    "hours": "h",
    "hr": "h",
    "day": "d",
    "days": "d",
}


class DurationError(ValueError):
    """Why a text is no duration that can be used; `hint` is what to write instead."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def duration(text: str, least: int, most: int) -> int:
    """`5m` in whole seconds, which lie between `least` and `most`. Raises DurationError."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise DurationError(f"{text[:40]!r} is not a valid duration", 'write for example "5m"')
    number, unit = match.groups()
    if unit not in _SECONDS:
        meant = _MEANT.get(unit.lower()) or (unit.lower() if unit.lower() in _SECONDS else "")
        hint = (
            f'write "{number}{meant}"' if meant else 'write for example "30s", "5m", "1h" or "7d"'
        )
        problem = f"has the unit {unit}" if unit else "has no unit"
        raise DurationError(f"the duration {text[:40]!r} {problem}; there are s, m, h and d", hint)
    seconds = float(number) * _SECONDS[unit]
    if seconds != int(seconds) or not least <= seconds <= most:
        raise DurationError(
            f"the duration {text[:40]!r} is out of range",
            f"it is {spoken(least)} to {spoken(most)}, in whole seconds",
        )
    return int(seconds)


def spoken(seconds: int) -> str:
    """Seconds in the largest unit that fits: `90s`, `5m`, `24h`, `7d`."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds % size == 0 and seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
