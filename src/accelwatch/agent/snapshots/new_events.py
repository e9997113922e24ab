"""Error events of a node, each given once, when it is known whose it is or nobody will say any more."""

from collections.abc import Iterator, Mapping

from accelwatch.node.store.events import UNRESOLVED_S
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.snapshot import Snapshot
from accelwatch.schema.stream.context_encoder import EventNumbers


class NewEvents:
    """What snapshots have of events that those before did not have.

    An event whose device is not known yet waits, for one without a device concerns all of them.
    """

    def __init__(self, patience_s: float = UNRESOLVED_S) -> None:
        """`patience_s` is how long an event waits for its device."""
        self._patience_s = patience_s
        self._numbers = EventNumbers()
        self._numbered: Mapping[int, ErrorEvent] = {}
        # Events that were not given yet, by number, and since when (monotonic).
        self._waiting: dict[int, float] = {}
        self._last = -1

    def of(self, snapshot: Snapshot, at: float) -> Iterator[ErrorEvent]:
        """The new ones of a snapshot at a monotonic moment."""
        self._numbers.assign(snapshot.events, snapshot.time)
        numbered = self._numbers.numbered
        if numbered is not self._numbered:
            self._numbered = numbered
            for number in numbered:
                if number > self._last:
                    self._waiting[number] = at
            self._last = max(self._last, *numbered, -1)
        for number, since in tuple(self._waiting.items()):
            event = numbered.get(number)
            if event is None:
                del self._waiting[number]
            elif _is_located(event) or at - since >= self._patience_s:
                del self._waiting[number]
                yield event


def _is_located(event: ErrorEvent) -> bool:
    return bool(event.device_id) or not event.subject
