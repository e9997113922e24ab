"""The devices of a backend that wait for their turn; a driver may allow one call at a time."""

from collections import deque
from collections.abc import Callable
from functools import partial

from accelwatch.base.absence import Absence
from accelwatch.base.clock import Clock
from accelwatch.node.sampler.turns.cycle import CycleTracker
from accelwatch.node.sampler.turns.turn import Slot
from accelwatch.node.store.reports import Failure

# Why a device has no turn.
BEHIND = Failure(
    absence=Absence.TIMEOUT,
    code="timeout",
    message="the driver takes one call at a time, and a call into it has not come back",
)


class TurnQueue:
    """Starts turns in order, as many at a time as the driver allows."""

    def __init__(self, tracker: CycleTracker, clock: Clock, is_stuck: Callable[[], bool]) -> None:
        """`is_stuck`: whether a driver that allows one call at a time has a call out."""
        self._tracker = tracker
        self._clock = clock
        self._is_stuck = is_stuck
        self._slots: deque[Slot] = deque()

    def __contains__(self, slot: Slot) -> bool:
        return slot in self._slots

    def add(self, slot: Slot) -> None:
        """The cycle waits for a turn of this device."""
        self._tracker.wait_for(slot)
        self._slots.append(slot)

    def remove(self, slot: Slot) -> None:
        """A device is gone, whether it waited or not."""
        if slot in self._slots:
            self._slots.remove(slot)

    def clear(self) -> None:
        """Nobody waits any more; nothing is reported."""
        self._slots.clear()

    def start(self, now: float) -> None:
        """Start the turns that the driver allows now."""
        while self._slots and not self._is_stuck():
            slot = self._slots.popleft()
            slot.start(now, partial(self._turn_over, slot))

    def give_up(self) -> None:
        """Report that the driver did not get to those who wait."""
        while self._slots:
            slot = self._slots.popleft()
            slot.report(BEHIND)
            self._tracker.finish_turn(slot, BEHIND)

    def _turn_over(self, slot: Slot, failure: Failure | None) -> None:
        self._tracker.finish_turn(slot, failure)
        # Its call is still out in a driver that allows one at a time: the devices behind it would
        # be late without having been read.
        if slot.busy and self._is_stuck():
            self.give_up()
        self.start(self._clock.monotonic())
        self._tracker.close_if_over()
