"""Whose processes are, and since when: what ps prints of all of them. Pure."""

import re
import time
from typing import NamedTuple

ARGUMENTS = ("-A", "-o", "pid=,lstart=,user=")
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}
_LINE = re.compile(
    r"\s*(\d{1,9})\s+[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([ \d]\d) (\d\d):(\d\d):(\d\d) (\d{4})"
    r"\s+(\S{1,64})\s*",
    re.ASCII,
)


class Owner(NamedTuple):
    """Of one process."""

    user: str
    # Unix seconds, to the second.
    start_time: float | None


def owners(output: bytes) -> dict[int, Owner]:
    """By pid; a line of another form is left out. Times are in this machine's time zone."""
    lines = (_LINE.fullmatch(line) for line in output.decode("utf-8", "replace").splitlines())
    return {
        int(match[1]): Owner(match[8], _start_time(match)) for match in lines if match is not None
    }


def _start_time(match: "re.Match[str]") -> float | None:
    month = _MONTHS.get(match[2])
    if month is None:
        return None
    day, hour, minute, second, year = (int(match[at]) for at in range(3, 8))
    try:
        return time.mktime((year, month, day, hour, minute, second, 0, 0, -1))
    except (OverflowError, ValueError):
        return None
