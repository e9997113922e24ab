"""Evidence on its way to the board: started, ended, logged as events, saved."""

import asyncio

import msgspec

from accelwatch.fleet.state.evidence.board import STANDS, ReceivedAlert
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.location import Location
from accelwatch.schema.event import ErrorEvent


class EvidenceIntake:
    """The one way onto the fleet's board; the loop's thread only."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        # One write at a time, in the order of the snapshots: an older snapshot that is written last
        # would bring back evidence that has ended.
        self._writing = asyncio.Lock()

    def happened(self, location: Location, event: ErrorEvent) -> None:
        """Note something that is over as soon as it has happened."""
        noted = msgspec.structs.replace(event, device_id=location.device)
        self.fleet.events.note(location.node, location.name, noted)

    def activate(self, location: Location, event: ErrorEvent, key: str, until: float) -> bool:
        """Activate it, or keep it longer; whether there was room. Its beginning is noted once.

        `until` in Unix seconds.
        """
        board = self.fleet.evidence
        new = board.get(key) is None
        event = msgspec.structs.replace(event, device_id=location.device)
        if not board.activate(ReceivedAlert(key=key, node=location.node, event=event, until=until)):
            return False
        if new:
            self._note(location, event, "began")
        return True

    def resolve(self, key: str, event: ErrorEvent | None = None) -> bool:
        """It is over; whether it was active. `event` is what is noted, else what began."""
        resolved = self.fleet.evidence.resolve(key)
        if resolved is None:
            return False
        there = self.fleet.nodes.get(resolved.node)
        device = None if there is None else there.devices.get(resolved.event.device_id)
        name = "" if device is None else device.device.name
        location = Location(resolved.node, resolved.event.device_id, name)
        now = msgspec.structs.replace(resolved.event, time=self.fleet.clock.wall())
        self._note(location, now if event is None else event, "ended")
        return True

    async def written(self) -> str:
        """Write down what is active; why it would not outlive the hub, or nothing."""
        async with self._writing:
            active = tuple(self.fleet.evidence.all())
            return await asyncio.to_thread(self.fleet.evidence_file.write, active)

    def _note(self, location: Location, event: ErrorEvent, what: str) -> None:
        text = event.text if what == "began" else f"over: {event.text}"
        detail = {**event.detail, STANDS: what}
        noted = msgspec.structs.replace(event, text=text, detail=detail, device_id=location.device)
        self.fleet.events.note(location.node, location.name, noted)
