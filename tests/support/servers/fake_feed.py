"""A store for a server under test, whose snapshot the test puts in."""

from collections.abc import Callable

from accelwatch.schema.snapshot import Snapshot


class FakeFeed:
    """What a server needs of a store."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.version = 1
        # How many snapshots were asked for.
        self.taken = 0
        # What asking for a snapshot raises, if anything.
        self.fault: Exception | None = None
        self._snapshot = snapshot
        self._listeners: list[Callable[[], None]] = []

    def snapshot(self) -> Snapshot:
        self.taken += 1
        if self.fault is not None:
            raise self.fault
        return self._snapshot

    def state_key(self) -> object:
        states = tuple((one.device.id, one.state) for one in self._snapshot.devices)
        return self._snapshot.events, states

    def put(self, snapshot: Snapshot) -> None:
        """Another snapshot; who listens is told."""
        self._snapshot = snapshot
        self.version += 1
        for listener in tuple(self._listeners):
            listener()

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)
