"""What an archive says of jobs and maintenance, told no earlier than it could be known."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from accelwatch.archive.history.rows import JobRow, MaintenanceRow

AFTER_S = 300.0
"""Nodes that are worked on until a moment come up for so long."""


class Occupant(NamedTuple):
    """Whose a device is."""

    job: str
    user: str
    stage: str


class Jobs:
    """Who runs where. A job is known from its start, its end when it has come."""

    def __init__(self, rows: Sequence[JobRow]) -> None:
        self._starts = sorted(
            rows, key=lambda one: (one.start, one.job, one.node, one.device or "")
        )
        ending = [one for one in rows if one.end is not None]
        self._ends = sorted(ending, key=lambda one: (one.end, one.job, one.node, one.device or ""))
        self._started = self._ended = 0
        self._running: dict[str, list[JobRow]] = {}
        self.nodes: dict[str, dict[str, int]] = {}
        """Nodes of each running job, with the number of its rows there."""
        self.version = 0
        """Grows with every start and end."""

    def advance(self, now: float) -> None:
        """What has begun and ended up to a moment, Unix seconds."""
        limit = now * 1000
        while self._started < len(self._starts) and self._starts[self._started].start <= limit:
            self._begin(self._starts[self._started])
            self._started += 1
        while self._ended < len(self._ends) and (self._ends[self._ended].end or 0) <= limit:
            self._end(self._ends[self._ended])
            self._ended += 1

    def _begin(self, row: JobRow) -> None:
        self._running.setdefault(row.node, []).append(row)
        nodes = self.nodes.setdefault(row.job, {})
        nodes[row.node] = nodes.get(row.node, 0) + 1
        self.version += 1

    def _end(self, row: JobRow) -> None:
        running = self._running.get(row.node, [])
        if row not in running:
            return
        running.remove(row)
        nodes = self.nodes[row.job]
        nodes[row.node] -= 1
        if not nodes[row.node]:
            del nodes[row.node]
        if not nodes:
            del self.nodes[row.job]
        self.version += 1

    def of(self, node: str, device: str) -> Occupant | None:
        """Whose a device is now; of several the first by name."""
        there = [one for one in self._running.get(node, ()) if one.device in (None, device)]
        if not there:
            return None
        first = min(there, key=lambda one: one.job)
        return Occupant(first.job, first.user, first.stage or "")


class Maintenance:
    """When nodes are worked on."""

    def __init__(self, rows: Iterable[MaintenanceRow]) -> None:
        self._windows = sorted(rows, key=lambda one: (one.start, one.end, one.node or ""))

    def until(self, nodes: Sequence[str], now: float) -> float | None:
        """Until when all of these nodes are worked on; None when one of them is not."""
        ends = [self._of(node, now) for node in nodes] or [self._of("", now)]
        known = [end for end in ends if end is not None]
        return max(known) if len(known) == len(ends) else None

    def _of(self, node: str, now: float) -> float | None:
        ends = [
            one.end / 1000 + AFTER_S
            for one in self._windows
            if one.node in (None, node) and one.start / 1000 <= now < one.end / 1000 + AFTER_S
        ]
        return max(ends, default=None)
