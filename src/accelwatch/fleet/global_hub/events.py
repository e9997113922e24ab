"""Events of all hubs in one numbering: each hub counts from 1, and a stream needs one order."""

from collections.abc import Sequence

import msgspec

from accelwatch.fleet.wire import FleetEvent


class NumberedEvents:
    """The newest events of a picture, by the order in which they came here."""

    def __init__(self) -> None:
        # Number of the newest; 0 before the first.
        self.last = 0
        self._source: Sequence[FleetEvent] | None = None
        # Events as the picture has them, to ours.
        self._numbered: dict[FleetEvent, FleetEvent] = {}

    def update(self, events: Sequence[FleetEvent]) -> None:
        """What the picture has now, oldest first."""
        if events is self._source:
            return
        numbered: dict[FleetEvent, FleetEvent] = {}
        for event in events:
            ours = self._numbered.get(event)
            if ours is None:
                self.last += 1
                ours = msgspec.structs.replace(event, sequence=self.last)
            numbered[event] = ours
        self._source, self._numbered = events, numbered

    def after(self, number: int) -> list[FleetEvent]:
        """Those with greater numbers, in their order."""
        events = [event for event in self._numbered.values() if event.sequence > number]
        return sorted(events, key=lambda event: event.sequence)

    def newest_first(self) -> list[FleetEvent]:
        """All of them."""
        return self.after(0)[::-1]
