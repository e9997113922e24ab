"""A look through a whole archive, a row group at a time: who is there when, when events were, gaps.

What is before the moment that is shown comes first, so that its picture is soon whole.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from accelwatch.archive.history.layout import DEVICES, EVENTS, NODES, ArchiveError
from accelwatch.archive.history.reading.contents import Contents
from accelwatch.archive.history.reading.event_search import EventSearch
from accelwatch.archive.history.reading.presence import LastSeen, Presence
from accelwatch.archive.history.reading.row_groups import RowGroup
from accelwatch.fleet.picture.timeline import Stretch

# Equal shares of the span in which events are counted.
SHARES = 4096
# How long a device or node is still expected after its last row.
EXPECTED_MS = 7 * 86_400_000
_LEAST_GAP_S = 300.0
_GAP_INTERVALS = 6


class _Chunk(NamedTuple):
    first: int
    table: str
    group: RowGroup


class ArchiveScan:
    """What is known of the whole archive so far; the reading thread only."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        gap_s = max(_LEAST_GAP_S, _GAP_INTERVALS * contents.interval_s)
        self.presence = Presence(round(gap_s * 1000))
        self.events: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.silences: tuple[Stretch, ...] = ()
        self.complete = False
        # The moment that is shown, Unix milliseconds.
        self.position = contents.first
        self._chunks: list[_Chunk] = []
        self._scanned: list[bool] = []
        self._first: list[int] = []
        self._next = 0

    @property
    def share(self) -> float:
        """How much was scanned, 0 to 1."""
        return sum(self._scanned) / len(self._scanned) if self._scanned else 0.0

    def last_seen(self, time: int) -> LastSeen:
        """When each entity last reported before a time, Unix milliseconds.

        As far back as everything was scanned: before a part that was not, nobody can say
        that it was the last.
        """
        return self.presence.last_seen(time, since=self._scanned_since(time))

    def _scanned_since(self, time: int) -> int:
        at = bisect_right(self._first, time) - 1
        since = time
        while at >= 0 and self._scanned[at]:
            since = self._first[at]
            at -= 1
        return since if at >= 0 or not self._first else 0

    def scan_before(self, time: int) -> None:
        """Look only at what a single picture of a moment (Unix milliseconds) needs."""
        groups = self._contents.groups
        self._set_chunks(
            [
                _Chunk(group.first, table, group)
                for table in (DEVICES, NODES)
                for group in groups[table].between(time - EXPECTED_MS, time)
            ]
        )
        for at in range(len(self._chunks)):
            self._scan(at)

    def steps(self) -> Iterator[None]:
        """Scan one row group after the other; what cannot be read is noted as a fault."""
        yield from self._events()
        chunks = []
        for table in (DEVICES, NODES):
            for group in self._contents.groups[table]:
                chunks.append(_Chunk(group.first, table, group))
                yield
        self._set_chunks(chunks)
        while (at := self._next_unscanned()) is not None:
            self._scan(at)
            yield
        self.silences = tuple(
            Stretch(start=first / 1000, end=last / 1000) for first, last in self.presence.silences()
        )
        self.complete = True

    def _events(self) -> Iterator[None]:
        contents = self._contents
        counts = np.zeros(SHARES, dtype=np.int64)
        width = max(contents.last - contents.first, 1) / SHARES
        for times in EventSearch(contents.groups[EVENTS]).times():
            inside = times[(times >= contents.first) & (times <= contents.last)]
            at = np.minimum((inside - contents.first) / width, SHARES - 1).astype(np.intp)
            counts += np.bincount(at, minlength=SHARES)
            yield
        self.events = counts

    def _set_chunks(self, chunks: list[_Chunk]) -> None:
        self._chunks = sorted(chunks, key=lambda chunk: chunk.first)
        self._first = [chunk.first for chunk in self._chunks]
        self._scanned = [False] * len(chunks)

    def _next_unscanned(self) -> int | None:
        """What to scan next: backwards from the position, then what is left; None when all is."""
        at = bisect_right(self._first, self.position) - 1
        while at >= 0 and self._first[at] >= self.position - EXPECTED_MS:
            if not self._scanned[at]:
                return at
            at -= 1
        while self._next < len(self._chunks):
            if not self._scanned[self._next]:
                return self._next
            self._next += 1
        return None

    def _scan(self, at: int) -> None:
        self._scanned[at] = True
        chunk = self._chunks[at]
        try:
            self.presence.add(chunk.table, chunk.group)
        except ArchiveError as error:
            self._contents.groups[chunk.table].faults.setdefault(chunk.group.path, str(error))
