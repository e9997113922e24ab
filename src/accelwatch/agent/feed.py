"""What the server needs of the store; runtime puts the real one in."""

from collections.abc import Callable
from typing import Protocol

from accelwatch.schema.snapshot import Snapshot


class Feed(Protocol):
    """The store, as its readers see it."""

    @property
    def version(self) -> int:
        """Grows with every change."""
        ...

    def snapshot(self) -> Snapshot:
        """Everything known now."""
        ...

    def state_key(self) -> object:
        """What is another when a device comes, goes or is in another state, or an event has come."""
        ...

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after changes worth publishing; returns a function that unsubscribes."""
        ...
