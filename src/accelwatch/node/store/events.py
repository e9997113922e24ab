"""The error events of a node: a fault from two sources is one event; counts per device and code."""

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.snapshot import EventCount

if TYPE_CHECKING:  # it loads logging, and a single reading keeps no counts
    from accelwatch.node.store.persistence.counts import Counts

RING = 512
# Two sources that report one code for one device within this time mean one fault.
SAME_FAULT_S = 5.0
# How long an event waits for its device to be discovered.
UNRESOLVED_S = 10.0
_PENDING = 256
_LOOKBACK = 64
_MAX_CODES = 64
_MAX_DEVICES = 256
_OTHER = "other"


class _Entry:
    def __init__(self, event: ErrorEvent) -> None:
        self.event = event
        self.sources = {event.source}


class EventStore:
    """Bounded in every direction. `resolve` gives the device id for a subject, or an empty string.

    `ambiguous`: whether an id means more than one device; the subject then has to say which.
    """

    def __init__(
        self,
        resolve: Callable[[str], str],
        counts: "Counts | None" = None,
        *,
        ambiguous: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._resolve = resolve
        self._ambiguous = ambiguous
        self._entries: deque[_Entry] = deque(maxlen=RING)
        self._pending: deque[tuple[float, ErrorEvent]] = deque(maxlen=_PENDING)
        self.counts: Counts = counts or {}
        # Events so far.
        self.total = 0

    def add(self, events: Iterable[ErrorEvent], timestamp: float) -> bool:
        """Add events at a monotonic time; whether a counter changed."""
        changed = False
        for event in events:
            resolved = self._with_device(event)
            if resolved.device_id == "" and event.subject:
                self._pending.append((timestamp, event))
                self.total += 1
            else:
                changed |= self._record(resolved)
        return changed

    def settle(self, timestamp: float) -> bool:
        """Assign events whose device is known by now, or that waited long; whether a counter changed."""
        changed = False
        for _ in range(len(self._pending)):
            since, event = self._pending.popleft()
            resolved = self._with_device(event)
            if resolved.device_id or timestamp - since >= UNRESOLVED_S:
                changed |= self._record(resolved)
            else:
                self._pending.append((since, event))
        return changed

    def events(self) -> tuple[ErrorEvent, ...]:
        """All that is remembered, oldest first."""
        return (*(entry.event for entry in self._entries), *(event for _, event in self._pending))

    def of(self, device_id: str) -> list[ErrorEvent]:
        """Remembered events of one device."""
        return [entry.event for entry in self._entries if entry.event.device_id == device_id]

    def counts_of(self, device_id: str) -> tuple[EventCount, ...]:
        """Counters of one device, by code."""
        counts = self.counts.get(device_id, {})
        return tuple(counts[code] for code in sorted(counts))

    def _with_device(self, event: ErrorEvent) -> ErrorEvent:
        if event.device_id and not self._ambiguous(event.device_id):
            return event
        device_id = self._resolve(event.subject) if event.subject else ""
        return msgspec.structs.replace(event, device_id=device_id)

    def _record(self, event: ErrorEvent) -> bool:
        duplicate = self._duplicate_of(event)
        if duplicate is not None:
            duplicate.sources.add(event.source)
            duplicate.event = _richer(duplicate.event, event)
            return False
        self._entries.append(_Entry(event))
        self.total += 1
        if not event.trusted:
            return False
        self._count(event)
        return True

    def _duplicate_of(self, event: ErrorEvent) -> _Entry | None:
        if not event.trusted:
            return None
        for back in range(1, min(len(self._entries), _LOOKBACK) + 1):
            entry = self._entries[-back]
            if (
                event.source not in entry.sources
                and entry.event.trusted
                and (entry.event.code, entry.event.device_id) == (event.code, event.device_id)
                and abs(entry.event.time - event.time) <= SAME_FAULT_S
            ):
                return entry
        return None

    def _count(self, event: ErrorEvent) -> None:
        if event.device_id not in self.counts and len(self.counts) >= _MAX_DEVICES:
            return
        codes = self.counts.setdefault(event.device_id, {})
        code, category = event.code, event.category.value
        if code not in codes and len(codes) >= _MAX_CODES:
            code = category = _OTHER
        before = codes.get(code)
        codes[code] = EventCount(
            code=code,
            category=category,
            total=(before.total if before else 0) + 1,
            last_time=max(event.time, before.last_time if before else event.time),
        )


def _richer(existing: ErrorEvent, other: ErrorEvent) -> ErrorEvent:
    """The more detailed event, with the details of both and the earlier time."""
    best = max(existing, other, key=lambda event: (len(event.detail), len(event.text)))
    return msgspec.structs.replace(
        best,
        detail={**existing.detail, **other.detail, **best.detail},
        time=min(existing.time, other.time),
        subject=best.subject or existing.subject or other.subject,
    )
