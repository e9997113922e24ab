"""Error events of the whole fleet: bounded, each once, however often a node reports it again."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from accelwatch.fleet.dialects.base.counts import COUNTER, counted_event, recent_events
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.snapshot import EventCount
from accelwatch.schema.stream.context import Event, event_message

CAPACITY = 8192
# Events kept of one node: a noisy one must not push out the others'.
NODE_CAPACITY = 128
# Of those, events that the hub itself reports of a node and its devices.
OWN_CAPACITY = 48
# Origin and source of such events; no target has such a key.
OWN = "hub"
# Time within which an event of a new connection or of another target is one that is known already.
_SAME_S = 5.0
_SAME_TIME_S = 0.002


class Noted(msgspec.Struct, frozen=True, kw_only=True):
    """An event as the hub keeps it."""

    sequence: int
    node: str
    # Short name of the device; empty for the node.
    name: str
    # Its time is on the hub's clock.
    event: ErrorEvent


class _Entry(msgspec.Struct, kw_only=True):
    """What an event is recognised by."""

    sequence: int
    code: str
    # The target that reported it, and the number that it has there.
    origin: str = ""
    number: int = 0
    device_id: str = ""
    # On the node's clock.
    time: float = 0.0


class EventLog:
    """The fleet's events in order of arrival."""

    def __init__(self) -> None:
        # Sequence of the newest event.
        self.last = 0
        self._noted: dict[int, Noted] = {}
        self._nodes: dict[str, deque[_Entry]] = {}

    def record(
        self,
        node: str,
        origin: str,
        events: Iterable[Event],
        *,
        ours: Callable[[float], float],
        name: Callable[[str], str],
        again: bool,
    ) -> None:
        """Record events of a target, `origin`; `again` when it may have reported them before.

        `ours` moves a time onto the hub's clock, `name` gives the short name of a device.
        """
        entries = self._nodes.setdefault(node, deque())
        numbered = {entry.number: entry for entry in entries if entry.origin == origin}
        matched: set[int] = set()
        for numbered_event in events:
            if not math.isfinite(numbered_event.event.time):
                continue
            event = event_message(numbered_event.sequence, numbered_event.event).event
            existing = None if event.source == COUNTER else numbered.get(numbered_event.sequence)
            entry = existing or _alike(entries, event, origin, again, matched)
            if entry is None:
                self.last += 1
                entry = _Entry(sequence=self.last, code=event.code)
                entries.append(entry)
            elif event.source == COUNTER:
                continue
            entry.origin, entry.number = origin, numbered_event.sequence
            entry.device_id, entry.time = event.device_id, event.time
            matched.add(entry.sequence)
            self._noted[entry.sequence] = Noted(
                sequence=entry.sequence,
                node=node,
                name=name(event.device_id) if event.device_id else "",
                event=msgspec.structs.replace(event, time=ours(event.time)),
            )
            if len(entries) > NODE_CAPACITY:
                oldest = entries.popleft()
                numbered.pop(oldest.number, None)
                del self._noted[oldest.sequence]
        self._bound()

    def note(self, node: str, name: str, event: ErrorEvent) -> None:
        """Record an event of the hub itself, its time on our clock; `name` is the device's short name.

        Frequent changes must not push out the node's own events: of the hub's own at most
        OWN_CAPACITY are kept of a node.
        """
        entries = self._nodes.setdefault(node, deque())
        own = [entry for entry in entries if entry.origin == OWN]
        if len(own) >= OWN_CAPACITY:
            entries.remove(own[0])
            del self._noted[own[0].sequence]
        elif len(entries) >= NODE_CAPACITY:
            del self._noted[entries.popleft().sequence]
        self.last += 1
        entries.append(
            _Entry(
                sequence=self.last,
                code=event.code,
                origin=OWN,
                number=self.last,
                device_id=event.device_id,
                time=event.time,
            )
        )
        self._noted[self.last] = Noted(sequence=self.last, node=node, name=name, event=event)
        self._bound()

    def _bound(self) -> None:
        while len(self._noted) > CAPACITY:
            self._drop(next(iter(self._noted)))

    def _drop(self, sequence: int) -> None:
        node = self._noted.pop(sequence).node
        entries = self._nodes[node]
        entries.popleft()  # the fleet's oldest is its node's oldest
        if not entries:
            del self._nodes[node]

    def forget(self, node: str) -> None:
        """Drop the events of a node that is no more."""
        for entry in self._nodes.pop(node, ()):
            del self._noted[entry.sequence]

    def of(self, node: str) -> list[Noted]:
        """What is kept of a node, oldest first."""
        return [self._noted[entry.sequence] for entry in self._nodes.get(node, ())]

    def before(self, sequence: int) -> Iterator[Noted]:
        """Newest first, from before a sequence."""
        return (noted for noted in reversed(self._noted.values()) if noted.sequence < sequence)

    def after(self, sequence: int) -> list[Noted]:
        """What came after a sequence, oldest first."""
        newer: list[Noted] = []
        for noted in reversed(self._noted.values()):
            if noted.sequence <= sequence:
                break
            newer.append(noted)
        newer.reverse()
        return newer

    def __len__(self) -> int:
        return len(self._noted)


def _alike(
    entries: Iterable[_Entry], event: ErrorEvent, origin: str, again: bool, matched: set[int]
) -> _Entry | None:
    """The entry of an event that was reported before under another number."""
    for entry in entries:
        if entry.origin == OWN:
            continue
        near_s = _SAME_S if again or entry.origin != origin else _SAME_TIME_S
        if (
            entry.code == event.code
            and entry.device_id == event.device_id
            and abs(entry.time - event.time) <= near_s
            and entry.sequence not in matched
        ):
            return entry
    return None


def counted(
    before: Sequence[EventCount], now: Sequence[EventCount], device_id: str, wall: float
) -> list[Event]:
    """Events that only counters show: one for each code that has grown.

    `wall` is their time where the counter says none.
    """
    totals = {count.code: count.total for count in before}
    events: list[Event] = []
    for count in now:
        more = count.total - totals.get(count.code, 0)
        if more > 0:
            event = counted_event(count, device_id, count.last_time or wall, more)
            events.append(Event(sequence=-count.total, event=event))
    return events


def first_seen(counts: Sequence[EventCount], device_id: str, wall: float) -> list[Event]:
    """The events of the last minutes in the counts of a device that is seen for the first time."""
    return [
        Event(sequence=-count.total, event=event)
        for count in counts
        for event in recent_events((count,), device_id, wall)
    ]
