"""A look through a whole archive, a row group at a time: who is there when, when events were, gaps.

What is before the moment that is shown comes first, so that its picture is soon whole.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from accelwatch.archive.history.contents import Contents
from accelwatch.archive.history.event_search import EventSearch
from accelwatch.archive.history.layout import DEVICES, EVENTS, NODES, ArchiveError
from accelwatch.archive.history.presence import Presence, Seen
from accelwatch.archive.history.row_groups import RowGroup
from accelwatch.fleet.picture.timeline import Stretch

SHARES = 4096
"""Equal shares of the span in which events are counted."""
EXPECTED_MS = 7 * 86_400_000
"""How long a device or node is still expected after its last row."""
_LEAST_GAP_S = 300.0
_GAP_INTERVALS = 6


class _Part(NamedTuple):
    first: int
    table: str
    group: RowGroup


class Survey:
    """What is known of the whole archive so far; the reading thread only."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        gap_s = max(_LEAST_GAP_S, _GAP_INTERVALS * contents.interval_s)
        self.presence = Presence(round(gap_s * 1000))
        self.events: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.silences: tuple[Stretch, ...] = ()
        self.complete = False
        self.position = contents.first
        """The moment that is shown, Unix milliseconds."""
        self._parts: list[_Part] = []
        self._looked: list[bool] = []
        self._first: list[int] = []
        self._next = 0

    @property
    def share(self) -> float:
        """How much was looked at, 0 to 1."""
        return sum(self._looked) / len(self._looked) if self._looked else 0.0

    def seen(self, moment: int) -> Seen:
        """When each entity was last heard before a moment, Unix milliseconds.

        As far back as everything was looked at: of what lies before a part that was not, nobody can say
        that it was the last.
        """
        return self.presence.seen(moment, since=self._known_from(moment))

    def _known_from(self, moment: int) -> int:
        at = bisect_right(self._first, moment) - 1
        known = moment
        while at >= 0 and self._looked[at]:
            known = self._first[at]
            at -= 1
        return known if at >= 0 or not self._first else 0

    def look_before(self, moment: int) -> None:
        """Look only at what a single picture of a moment (Unix milliseconds) needs."""
        groups = self._contents.groups
        self._found(
            [
                _Part(group.first, table, group)
                for table in (DEVICES, NODES)
                for group in groups[table].between(moment - EXPECTED_MS, moment)
            ]
        )
        for at in range(len(self._parts)):
            self._look(at)

    def steps(self) -> Iterator[None]:
        """Look at one row group after the other; what cannot be read is noted as a fault."""
        yield from self._events()
        parts = []
        for table in (DEVICES, NODES):
            for group in self._contents.groups[table]:
                parts.append(_Part(group.first, table, group))
                yield
        self._found(parts)
        while (at := self._wanted()) is not None:
            self._look(at)
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

    def _found(self, parts: list[_Part]) -> None:
        self._parts = sorted(parts, key=lambda part: part.first)
        self._first = [part.first for part in self._parts]
        self._looked = [False] * len(parts)

    def _wanted(self) -> int | None:
        """What to look at next: backwards from the position, then what is left; None when all is."""
        at = bisect_right(self._first, self.position) - 1
        while at >= 0 and self._first[at] >= self.position - EXPECTED_MS:
            if not self._looked[at]:
                return at
            at -= 1
        while self._next < len(self._parts):
            if not self._looked[self._next]:
                return self._next
            self._next += 1
        return None

    def _look(self, at: int) -> None:
        self._looked[at] = True
        part = self._parts[at]
        try:
            self.presence.add(part.table, part.group)
        except ArchiveError as error:
            self._contents.groups[part.table].faults.setdefault(part.group.path, str(error))
