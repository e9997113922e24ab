"""Whose the devices of a node are at a moment, from the jobs of an archive."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from accelwatch.archive.history.rows import JobRow

_SEPARATOR = "+"
_NEVER = 1 << 62


class Occupancy(NamedTuple):
    """Several jobs or users are joined by `+`."""

    job: str
    user: str


class Jobs:
    """All jobs with arrays of when they began and ended."""

    def __init__(self, rows: Iterable[JobRow]) -> None:
        self._rows = list(rows)
        self._start = np.array([row.start for row in self._rows], dtype=np.int64)
        end_times = [_NEVER if row.end is None else row.end for row in self._rows]
        self._end = np.array(end_times, dtype=np.int64)

    def at(self, time: int) -> dict[tuple[str, str], list[JobRow]]:
        """Jobs that run at a moment (Unix milliseconds) by node and device; all devices: empty."""
        running: dict[tuple[str, str], list[JobRow]] = {}
        for at in np.flatnonzero((self._start <= time) & (self._end > time)).tolist():
            row = self._rows[at]
            running.setdefault((row.node, row.device or ""), []).append(row)
        return running


def occupancy(rows: Iterable[JobRow]) -> Occupancy | None:
    """Who has a device; None when nobody has."""
    rows = list(rows)
    if not rows:
        return None
    jobs = dict.fromkeys(row.job for row in rows)
    users = dict.fromkeys(row.user for row in rows if row.user)
    return Occupancy(_SEPARATOR.join(jobs), _SEPARATOR.join(users))
