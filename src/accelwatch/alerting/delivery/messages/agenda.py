"""When each message of each sink is due, the next one first. Pure: time is given."""

import heapq
import itertools
from collections.abc import Iterable, Mapping

from accelwatch.alerting.delivery.messages.message import NEVER, Key, Message


class Agenda:
    """Compares with the messages: an entry whose message is due at another time counts no more."""

    def __init__(self, sinks: Iterable[str], messages: Mapping[Key, Message]) -> None:
        self._messages = messages
        self._entries: dict[str, list[tuple[float, int, Key]]] = {name: [] for name in sinks}
        self._numbers = itertools.count()
        # Messages whose row has changed since it was last written.
        self.changes: set[Key] = set()

    def schedule(self, message: Message, due: float, now: float) -> None:
        """Have a message be due at a moment, and at no other."""
        message.due, message.scheduled_at = due, now
        self.changes.add(message.key)
        if due < NEVER:
            entry = (due, next(self._numbers), message.key)
            heapq.heappush(self._entries[message.sink], entry)

    def reschedule(self, message: Message, now: float) -> None:
        """Have a message be due when it was to be, also on a clock that was set back since.

        What was to wait waits as long as it was to, from now on.
        """
        waits_s, back_s = max(message.due - message.scheduled_at, 0.0), message.scheduled_at - now
        if back_s > 0:
            message.shift(-back_s)
            self.schedule(message, now + waits_s, now)
        else:
            self.schedule(message, message.due, now)

    def due_at(self, sink: str, now: float) -> float:
        """When there is something to do for a sink; infinity when there is nothing."""
        entries = self._entries[sink]
        while entries:
            due, _, key = entries[0]
            message = self._messages.get(key)
            if message is None or message.due != due:
                # Removed, or rescheduled: to search for its entry then would cost more than to skip it.
                heapq.heappop(entries)
            elif message.scheduled_at > now:
                # The clock was set back: by it the message would be due hours from now.
                heapq.heappop(entries)
                self.reschedule(message, now)
            else:
                return due
        return NEVER

    def pop(self, sink: str, now: float) -> Message | None:
        """The next message of a sink that is due."""
        if self.due_at(sink, now) > now:
            return None
        _, _, key = heapq.heappop(self._entries[sink])
        return self._messages[key]
