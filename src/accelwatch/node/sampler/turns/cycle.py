"""One backend's cycle: which devices have yet to end their turn, and how the whole went."""

from collections.abc import Hashable

from accelwatch.base.absence import Absence
from accelwatch.node.sampler.turns.calls import CollectorContext
from accelwatch.node.store.reports import Cycle, Failure

_RANK = ("ok", "error", "timeout")
# States of a device, which a collector that works well reports; not failures of the collector.
_FACTS = frozenset({Absence.LOST, Absence.PERMISSION, Absence.SUSPENDED, Absence.NOT_COLLECTED})


class CycleTracker:
    """Opened at a tick, closed when nobody is waited for any more."""

    def __init__(self, backend: str, collector: CollectorContext) -> None:
        self._backend = backend
        self._collector = collector
        self._waiting: set[Hashable] = set()
        self._result = "ok"
        self._message = ""
        self._started_at = 0.0
        self.open = False

    def start(self, now: float) -> None:
        """Open a cycle."""
        self.open = True
        self._started_at = now
        self._result, self._message = "ok", ""

    def wait_for(self, turn: Hashable) -> None:
        """The cycle is not over before this turn is."""
        self._waiting.add(turn)

    def finish_turn(self, turn: Hashable, failure: Failure | None) -> None:
        """A turn has ended; the last one closes the cycle when every turn has started."""
        self.note(failure)
        self._waiting.discard(turn)

    def note(self, failure: Failure | None) -> None:
        """Let a failure count for the result of the cycle."""
        if failure is None or failure.absence in _FACTS:
            return
        result = "timeout" if failure.absence is Absence.TIMEOUT else "error"
        if _RANK.index(result) > _RANK.index(self._result):
            self._result, self._message = result, failure.message

    def close_if_over(self) -> bool:
        """Report the cycle when no turn is out; whether it is over."""
        if self.open and not self._waiting:
            self.open = False
            self._emit_cycle(
                self._result, self._collector.clock.monotonic() - self._started_at, self._message
            )
        return not self.open

    def skipped(self) -> None:
        """Report that a tick came while the cycle was open; it goes on, with a turn for who is free."""
        self._emit_cycle("skipped", 0.0, "a device is still being read")

    def _emit_cycle(self, result: str, duration_s: float, message: str) -> None:
        self._collector.emit(
            Cycle(
                backend=self._backend,
                result=result,
                duration_s=duration_s,
                wall=self._collector.clock.wall(),
                message=message,
            )
        )
