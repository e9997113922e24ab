"""The jobs and maintenance of an archive, released no earlier than they could be known."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from accelwatch.archive.history.rows import JobRow, MaintenanceRow

# Nodes that are worked on until a moment come up for so long.
AFTER_S = 300.0


class Occupant(NamedTuple):
    """Whose a device is."""

    job: str
    user: str
    stage: str


class Jobs:
    """Who runs where. A job is known from its start, its end when it has come."""

    def __init__(self, rows: Sequence[JobRow]) -> None:
        self._starts = sorted(
            rows, key=lambda row: (row.start, row.job, row.node, row.device or "")
        )
        finished = [row for row in rows if row.end is not None]
        self._by_end = sorted(
            finished, key=lambda row: (row.end, row.job, row.node, row.device or "")
        )
        self._started = self._finished = 0
        self._running: dict[str, list[JobRow]] = {}
        # Nodes of each running job, with the number of its rows there.
        self.nodes: dict[str, dict[str, int]] = {}
        # Grows with every start and end.
        self.version = 0

    def advance(self, now: float) -> None:
        """Process what has started and ended up to a time, Unix seconds."""
        limit = now * 1000
        while self._started < len(self._starts) and self._starts[self._started].start <= limit:
            self._start_job(self._starts[self._started])
            self._started += 1
        while (
            self._finished < len(self._by_end) and (self._by_end[self._finished].end or 0) <= limit
        ):
            self._finish_job(self._by_end[self._finished])
            self._finished += 1

    def _start_job(self, row: JobRow) -> None:
        self._running.setdefault(row.node, []).append(row)
        nodes = self.nodes.setdefault(row.job, {})
        nodes[row.node] = nodes.get(row.node, 0) + 1
        self.version += 1

    def _finish_job(self, row: JobRow) -> None:
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
        there = self._rows(node, device)
        if not there:
            return None
        first = min(there, key=lambda row: row.job)
        return Occupant(first.job, first.user, first.stage or "")

    def names(self, node: str, device: str) -> tuple[str, ...]:
        """The jobs that share a device now, sorted."""
        return tuple(sorted({row.job for row in self._rows(node, device)}))

    def _rows(self, node: str, device: str) -> list[JobRow]:
        return [row for row in self._running.get(node, ()) if row.device in (None, device)]


class Maintenance:
    """When nodes are worked on."""

    def __init__(self, rows: Iterable[MaintenanceRow]) -> None:
        self._windows = sorted(
            rows, key=lambda window: (window.start, window.end, window.node or "")
        )

    def until(self, nodes: Sequence[str], now: float) -> float | None:
        """Until when all of these nodes are worked on; None when one of them is not."""
        ends = [self._of(node, now) for node in nodes] or [self._of("", now)]
        existing = [end for end in ends if end is not None]
        return max(existing) if len(existing) == len(ends) else None

    def working(self, nodes: Sequence[str], now: float) -> frozenset[str]:
        """Those of these nodes that are worked on."""
        active = {
            window.node
            for window in self._windows
            if window.start / 1000 <= now < window.end / 1000 + AFTER_S
        }
        return frozenset(nodes) if None in active else frozenset(nodes) & active

    def _of(self, node: str, now: float) -> float | None:
        ends = [
            window.end / 1000 + AFTER_S
            for window in self._windows
            if window.node in (None, node)
            and window.start / 1000 <= now < window.end / 1000 + AFTER_S
        ]
        return max(ends, default=None)
