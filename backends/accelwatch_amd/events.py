"""A bounded hand-over of error events from the device workers to their reader."""

from collections import deque
from collections.abc import Iterable
from threading import Condition

from accelwatch.schema.event import ErrorEvent

# Events kept while nobody reads them; the oldest go first.
_MOST = 1000


class EventQueue:
    """Events put in by many threads and drained, all at once, by one."""

    def __init__(self) -> None:
        self._events: deque[ErrorEvent] = deque(maxlen=_MOST)
        # Guards the events. The worker that waits for events waits on it, so an event arrives
        # without polling.
        self._filled = Condition()

    def put(self, events: Iterable[ErrorEvent]) -> None:
        """Add events and wake the waiter."""
        with self._filled:
            self._events.extend(events)
            if self._events:
                self._filled.notify_all()

    def drain(self, timeout_s: float) -> list[ErrorEvent]:
        """All events there are, as soon as there is one; none after `timeout_s` seconds."""
        with self._filled:
            self._filled.wait_for(lambda: bool(self._events), timeout_s)
            drained = list(self._events)
            self._events.clear()
            return drained
