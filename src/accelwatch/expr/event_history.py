"""The events that rules read: when each pattern was last matched, and how often lately."""

import math
from collections import OrderedDict, defaultdict
from collections.abc import Iterable

from accelwatch.expr.checking.tree import EventPattern
from accelwatch.expr.event_match import matcher
from accelwatch.expr.needs import EventNeed
from accelwatch.schema.event import ErrorEvent

# Matching events of one device that are counted; the oldest give way.
MOST_REMEMBERED = 4096

_Fingerprint = tuple[float, str, str, str]


class EventHistory:
    """Events by device id; those of the node itself, without a device, concern all its devices."""

    def __init__(self, needs: Iterable[EventNeed]) -> None:
        lengths: dict[EventPattern, int] = {}
        for need in needs:
            lengths[need.pattern] = max(lengths.get(need.pattern, 0), need.seconds)
        self._matchers = {pattern: matcher(pattern) for pattern in lengths}
        # When each pattern was matched last by anybody, news or not.
        self._newest: dict[EventPattern, float] = {}
        self._last: dict[tuple[str, EventPattern], float] = {}
        self._latest: dict[tuple[str, EventPattern], ErrorEvent] = {}
        self._times: defaultdict[tuple[str, EventPattern], OrderedDict[_Fingerprint, float]]
        self._times = defaultdict(OrderedDict)
        self._counted = {pattern for pattern, length in lengths.items() if length}

    def add(
        self, event: ErrorEvent, now: float, *, ago_s: float | None = None, is_new: bool = True
    ) -> None:
        """Add an event; a repeated one is the same. None is younger than `now` (Unix seconds).

        It was `ago_s` before `now` where its own time is not by that clock. One that is no news is
        counted, but it is not what has just happened.
        """
        if not math.isfinite(event.time):
            return
        time = min(event.time if ago_s is None else now - ago_s, now)
        for pattern, matches in self._matchers.items():
            if matches(event):
                self._newest[pattern] = max(time, self._newest.get(pattern, -math.inf))
                key = event.device_id, pattern
                if is_new and time >= self._last.get(key, -math.inf):
                    self._last[key], self._latest[key] = time, event
                if pattern in self._counted:
                    self._remember(key, event, time)

    def _remember(self, key: tuple[str, EventPattern], event: ErrorEvent, time: float) -> None:
        times = self._times[key]
        times[event.time, event.code, event.subject, event.text] = time
        if len(times) > MOST_REMEMBERED:
            times.popitem(last=False)

    def forget(self, device: str) -> None:
        """Another device stands there from now on."""
        for kept in (self._last, self._latest, self._times):
            for key in [entry for entry in kept if entry[0] == device]:
                del kept[key]

    def last(self, device: str, pattern: EventPattern) -> float:
        """Unix seconds of the last match of a device or its node; minus infinity without one."""
        return max(self._last.get((owner, pattern), -math.inf) for owner in (device, ""))

    def newest(self, pattern: EventPattern) -> float:
        """Unix seconds of the last match of anybody; minus infinity without one."""
        return self._newest.get(pattern, -math.inf)

    def latest(self, device: str, pattern: EventPattern) -> ErrorEvent | None:
        """The last match of a device or its node; None without one."""
        owner = max(
            (device, ""), key=lambda candidate: self._last.get((candidate, pattern), -math.inf)
        )
        return self._latest.get((owner, pattern))

    def occurrences(self, device: str, pattern: EventPattern, start: float) -> int:
        """How many there were since `start`."""
        owners = dict.fromkeys((device, ""))
        kept = [self._times[owner, pattern] for owner in owners if (owner, pattern) in self._times]
        return sum(time >= start for times in kept for time in times.values())
