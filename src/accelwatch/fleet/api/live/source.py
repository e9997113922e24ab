"""What a hub's streams are made of: a fleet that is held here, or the picture of several hubs."""

from collections.abc import Sequence
from typing import Protocol

from accelwatch.fleet.api.live.tick_frames import TickFrames
from accelwatch.fleet.wire import FleetDocument


class LiveFeed(Protocol):
    """Ticks for one set of fields and filter; made once for all who watch."""

    # Those who watch now.
    clients: int
    # The ticks and slots that they are sent.
    ticks: TickFrames

    @property
    def fields(self) -> tuple[str, ...]:
        """What the values of a device are, in order."""
        ...

    @property
    def last_event(self) -> int:
        """Number of the newest event; 0 before the first."""
        ...

    async def start(self) -> None:
        """Prepare for the first tick; may be called again."""
        ...

    async def make(self, document: FleetDocument) -> None:
        """Make the next tick; one at a time."""
        ...

    def events(self, media: str, after: int) -> bytes:
        """Events after a number, as bytes."""
        ...

    def close(self) -> None:
        """Nobody watches any more."""
        ...


class LiveSource(Protocol):
    """Gives feeds, and the fleet in numbers."""

    def feed(self, fields: Sequence[str], condition: str) -> LiveFeed:
        """A new feed. Raises AccelwatchError for fields and conditions that make no sense."""
        ...

    async def document(self) -> FleetDocument:
        """The fleet in numbers, as of now."""
        ...


class LiveIncidents(Protocol):
    """What streams say of incidents, numbered by refreshes that brought something."""

    async def refresh(self) -> None:
        """Update what has changed."""
        ...

    async def frames(self, form: str, after: int) -> tuple[Sequence[bytes], int]:
        """What has come after a refresh, in a stream's form, and up to which refresh."""
        ...
