"""What followers read of targets, on its way into the fleet's state."""

from collections.abc import Callable

from accelwatch.base.clock import Clock
from accelwatch.fleet.follow.failures.faults import TargetFault
from accelwatch.fleet.follow.frames import RawTick, Received
from accelwatch.fleet.follow.poll import Exposed
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.target import Target


class FleetSink:
    """Where followers send the targets' data; the loop's thread only."""

    def __init__(self, fleet: Fleet, clock: Clock, interval_s: Callable[[], float]) -> None:
        """`interval_s`: how often targets are polled that name no interval of their own."""
        self._fleet = fleet
        self._clock = clock
        self._interval_s = interval_s
        # When the attempts began that have brought no tick yet, by the target's key.
        self._started_at: dict[str, float] = {}

    def started(self, target: Target, mode: str) -> None:
        """A connection is being made."""
        source = self._fleet.source(target.key)
        if source is not None:
            source.mode = mode
            if mode == "stream":
                source.start_stream()
            self._started_at[target.key] = self._clock.monotonic()

    def message(self, target: Target, message: Received, size: int) -> None:
        """A message of a stream. Raises TargetFault."""
        key = target.key
        self._fleet.accept(key, message, size)
        if key in self._started_at and isinstance(message, RawTick):
            source = self._fleet.source(key)
            started = self._started_at.pop(key)
            if source is not None:
                source.read_s = self._clock.monotonic() - started

    def exposed(self, target: Target, exposed: Exposed, duration_s: float) -> None:
        """An exposition."""
        source = self._fleet.source(target.key)
        if source is None:
            return
        source.dialect, source.version = exposed.dialect, exposed.version[:64]
        source.read_s = duration_s
        for reason, count in exposed.rejected.items():
            source.rejected[reason] = source.rejected.get(reason, 0) + count
        interval_s = exposed.interval_s or self._interval_s()
        self._fleet.read(
            target.key, exposed.devices, exposed.time, interval_s, listing=exposed.listing
        )

    def failed(self, target: Target, fault: TargetFault) -> None:
        """An attempt failed."""
        self._started_at.pop(target.key, None)
        self._fleet.fail(target.key, fault)
