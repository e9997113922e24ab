"""Events by row: when each pattern was matched last, and the times of those that are counted."""

import math
from collections import deque
from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from accelwatch.expr.checking.tree import EventPattern
from accelwatch.expr.event_match import matcher
from accelwatch.expr.needs import EventNeed
from accelwatch.fleet.state.events import Noted
from accelwatch.fleet.state.evidence.board import STANDS, ReceivedAlert
from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.rows import grown
from accelwatch.schema.event import ErrorEvent

# Matching events of a pattern that are counted, of the whole fleet; the oldest give way.
MOST_REMEMBERED = 65536


# Whether an event was not judged before, by this hub or by the one that ran before it.
IsNew = Callable[[Noted], bool]


class EventHistory(Protocol):
    """What has happened, and to which rows."""

    @property
    def size(self) -> int:
        """How many rows there are."""
        ...

    @property
    def generation(self) -> npt.NDArray[np.uint32]:
        """By row; another one where something else stands than before."""
        ...

    def wall(self) -> float:
        """Unix seconds."""
        ...

    def after(self, sequence: int) -> Iterable[Noted]:
        """Events that came after one."""
        ...

    def rows_of(self, node: str, device_id: str) -> list[int]:
        """The rows that an event concerns; without a device those of the node."""
        ...

    def active_alerts(self) -> Iterable[ReceivedAlert]:
        """Evidence that others sent and that has not expired: it is happening now."""
        ...

    def who(self, row: int) -> tuple[str, ...]:
        """What distinguishes the device in a row from others; nothing where there is none."""
        ...


class EventColumns:
    """The events since the hub started. An event of a node concerns all devices that it has then."""

    def __init__(
        self, history: EventHistory, needs: Iterable[EventNeed], is_new: IsNew = lambda _: True
    ) -> None:
        self._history = history
        self._is_new = is_new
        longest: dict[EventPattern, int] = {}
        for need in needs:
            longest[need.pattern] = max(longest.get(need.pattern, 0), need.seconds)
        self._matchers = {pattern: matcher(pattern) for pattern in longest}
        self._last: dict[EventPattern, Floats] = {pattern: np.empty(0) for pattern in longest}
        self._size = 0
        self._latest: dict[tuple[EventPattern, int], ErrorEvent] = {}
        self._times: dict[EventPattern, deque[tuple[float, int]]] = {
            pattern: deque(maxlen=MOST_REMEMBERED) for pattern, length in longest.items() if length
        }
        # When each pattern was matched last by anybody, Unix seconds.
        self._newest: dict[EventPattern, float] = {}
        # By row, of patterns that match what stands now.
        self._active: dict[EventPattern, dict[int, ErrorEvent]] = {}
        self._now = 0.0
        self._sequence = 0
        self._generation = np.zeros(0, dtype=np.uint32)
        # Of the device that a row was last given to.
        self._who: dict[int, tuple[str, ...]] = {}

    def refresh(self, now: float | None = None) -> None:
        """What has come since; `now` is Unix time as if nobody had set the clock since we began."""
        size = self._history.size
        if size != self._size:
            self._size = size
            for pattern, last in self._last.items():
                self._last[pattern] = grown(last, size, -math.inf)
        self._reset_replaced_rows()
        wall = self._history.wall()
        now = wall if now is None else now
        for noted in self._history.after(self._sequence):
            self._sequence = noted.sequence
            if STANDS in noted.event.detail:
                continue
            rows = self._history.rows_of(noted.node, noted.event.device_id)
            if rows:
                self._add(noted, rows, min(now - (wall - noted.event.time), now))
        self._stand(now)

    def _stand(self, now: float) -> None:
        """Standing evidence is read again at every tick: its end is no event that must be received."""
        self._now, self._active = now, {}
        for alert in self._history.active_alerts():
            rows = self._history.rows_of(alert.node, alert.event.device_id)
            for pattern, matches in self._matchers.items() if rows else ():
                if matches(alert.event):
                    there = self._active.setdefault(pattern, {})
                    there.update(dict.fromkeys(rows, alert.event))

    def _reset_replaced_rows(self) -> None:
        """Rows with another device have received nothing; after a boot it is the same one."""
        generation = self._history.generation
        before = grown(self._generation, len(generation), 0)
        changed = np.flatnonzero(before != generation).tolist()
        self._generation = generation.copy()
        other = {row for row in changed if self._exchanged(row)}
        if not other:
            return
        for last in self._last.values():
            last[list(other)] = -math.inf
        self._latest = {key: event for key, event in self._latest.items() if key[1] not in other}
        for pattern, times in self._times.items():
            kept = [entry for entry in times if entry[1] not in other]
            self._times[pattern] = deque(kept, maxlen=MOST_REMEMBERED)

    def _exchanged(self, row: int) -> bool:
        now = self._history.who(row)
        before, self._who[row] = self._who.get(row), now
        return before is not None and before != now

    def _add(self, noted: Noted, rows: list[int], time: float) -> None:
        """Old news is counted, but it is not what has just happened."""
        is_new = self._is_new(noted)
        for pattern, matches in self._matchers.items():
            if matches(noted.event):
                self._newest[pattern] = max(time, self._newest.get(pattern, -math.inf))
                if is_new:
                    self._remember(pattern, noted.event, rows, time)
                if pattern in self._times:
                    self._times[pattern].extend((time, row) for row in rows)

    def _remember(
        self, pattern: EventPattern, event: ErrorEvent, rows: list[int], time: float
    ) -> None:
        last = self._last[pattern]
        for row in rows:
            if time >= last[row]:
                last[row] = time
                self._latest[pattern, row] = event

    def latest(self, pattern: EventPattern, row: int) -> ErrorEvent | None:
        """The event whose time `last` returns; None without one."""
        active = self._active.get(pattern, {}).get(row)
        return active or self._latest.get((pattern, row))

    def last(self, pattern: EventPattern, size: int) -> Floats:
        """Unix seconds of the last match, minus infinity without one; NaN where nothing is listening."""
        times = self._last.get(pattern)
        if times is None:
            return np.full(size, math.nan)
        times = grown(times, size, -math.inf)
        if pattern in self._active:
            times = times.copy()
            times[list(self._active[pattern])] = self._now
        return times

    def newest(self, pattern: EventPattern) -> float:
        """When it was matched last by anybody, minus infinity for never."""
        if pattern in self._active:
            return self._now
        return self._newest.get(pattern, -math.inf)

    def occurrences(self, pattern: EventPattern, start: float, size: int) -> Floats:
        """How many matches there were since `start`."""
        times = self._times.get(pattern)
        if times is None:
            return np.full(size, math.nan)
        rows = [row for time, row in times if time >= start]
        active = self._active.get(pattern, {})
        rows += [row for row, event in active.items() if event.time >= start]
        return np.bincount(np.array(rows, dtype=np.intp), minlength=size).astype(np.float64)
