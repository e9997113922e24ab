"""The messages of all sinks: what each knows, when it is due, and which rows are still to be written."""

from collections.abc import Collection, Iterable, Set

from accelwatch.alerting.delivery.formatting.own_problem import is_own_id
from accelwatch.alerting.delivery.messages.agenda import Agenda
from accelwatch.alerting.delivery.messages.message import Key, Message, decoded, encoded

# Of one sink. A receiver that is down for a day must not fill the memory of the hub.
MOST_MESSAGES = 10_000


class MessageStore:
    """One message of each incident and sink; it is changed in place, and scheduled here."""

    def __init__(self, sinks: Iterable[str]) -> None:
        self._messages: dict[Key, Message] = {}
        self._count = dict.fromkeys(sinks, 0)
        self._sinks_of: dict[str, set[str]] = {}
        self._agenda = Agenda(self._count, self._messages)
        self._in_flight: dict[str, Key] = {}
        # Notifications that were dropped because too many waited.
        self.dropped = 0

    def restore(self, rows: Iterable[bytes], now: float) -> None:
        """Go on with what an earlier process left; rows of sinks that are gone, or odd, are dropped."""
        for row in rows:
            message = decoded(row)
            if message is not None and is_own_id(message.incident):
                # A problem of the earlier process; those of this process are detected again.
                self._agenda.changes.add(message.key)
            elif message is not None and message.sink in self._count:
                self.put(message)
                self._agenda.reschedule(message, now)

    def get(self, incident: str, sink: str) -> Message | None:
        """What a sink knows of an incident, by its id; None for nothing."""
        return self._messages.get((incident, sink))

    def sinks_of(self, incident: str) -> Set[str]:
        """The sinks that have a message of an incident, by its id."""
        return self._sinks_of.get(incident, frozenset())

    def has_room(self, sink: str) -> bool:
        """Whether a sink may have one more message; where not, one was dropped."""
        if self._count[sink] < MOST_MESSAGES:
            return True
        self.dropped += 1
        return False

    def put(self, message: Message) -> None:
        """Have a message; it replaces that of the same incident and sink."""
        if message.key not in self._messages:
            self._count[message.sink] += 1
        self._messages[message.key] = message
        self._sinks_of.setdefault(message.incident, set()).add(message.sink)

    def remove(self, message: Message) -> None:
        """Forget a message, and its row."""
        if self._messages.pop(message.key, None) is None:
            return
        self._count[message.sink] -= 1
        self._agenda.changes.add(message.key)
        sinks = self._sinks_of[message.incident]
        sinks.discard(message.sink)
        if not sinks:
            del self._sinks_of[message.incident]

    def schedule(self, message: Message, due: float, now: float) -> None:
        """Have a message be due at a moment, Unix seconds, and at no other."""
        self._agenda.schedule(message, due, now)

    def due_at(self, sink: str, now: float) -> float:
        """When something is due for a sink; infinity when nothing is."""
        return self._agenda.due_at(sink, now)

    def pop(self, sink: str, now: float) -> Message | None:
        """The next message of a sink that is due. It has to be scheduled again, sent or removed."""
        return self._agenda.pop(sink, now)

    def depart(self, message: Message) -> None:
        """A message is being sent from now on."""
        self._in_flight[message.sink] = message.key

    def arrive(self, message: Message) -> bool:
        """It is no longer in flight; whether it is still that of its incident and sink."""
        self._in_flight.pop(message.sink, None)
        return self._messages.get(message.key) is message

    def in_flight(self, message: Message) -> bool:
        """Whether it is being sent right now: a message in flight cannot be recalled."""
        return self._in_flight.get(message.sink) == message.key

    def waiting(self, sink: str, now: float) -> list[Message]:
        """What should have been delivered, and was not."""
        return [
            message
            for message in self._messages.values()
            if message.sink == sink
            and message.is_pending
            and (message.attempts or message.due <= now)
        ]

    def drain_changes(self) -> dict[Key, bytes | None]:
        """The rows that have changed since they were last drained; None for those that are gone."""
        changes: dict[Key, bytes | None] = {}
        for key in self._agenda.changes:
            message = self._messages.get(key)
            changes[key] = None if message is None else encoded(message)
        self._agenda.changes.clear()
        return changes

    def restore_changes(self, keys: Collection[Key]) -> None:
        """Rows that were drained and could not be written are still to be written."""
        self._agenda.changes |= set(keys)
