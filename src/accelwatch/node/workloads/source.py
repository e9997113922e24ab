"""The bookkeeping all sources share: the last good answer with its age, pauses after failures."""

from collections.abc import Callable
from typing import Generic, TypeVar

from accelwatch.backend.kit.grpc.failure import SourceError
from accelwatch.base.backoff import Backoff
from accelwatch.base.clock import Clock
from accelwatch.node.workloads.facts import SourceState, SourceStatus

T = TypeVar("T")

_LONGEST_PAUSE_S = 120.0


class PolledSource(Generic[T]):
    """One source. `poll` never raises; a failure keeps the last good answer for `keep_s`."""

    def __init__(
        self, name: str, subject: str, empty: T, clock: Clock, *, interval_s: float, keep_s: float
    ) -> None:
        self.value = empty
        self._name = name
        self._subject = subject
        self._empty = empty
        self._clock = clock
        self._keep_s = keep_s
        self._good_at: float | None = None
        self._failure: SourceError | None = None
        self._backoff = Backoff(interval_s, _LONGEST_PAUSE_S)
        self._was_polled = False

    def poll(self, read: Callable[[], T]) -> None:
        """Read, unless the pause after the last failure is not over; the pause doubles each time."""
        now = self._clock.monotonic()
        if not self._backoff.ready(now):
            self._expire(now)
            return
        self._was_polled = True
        try:
            self.value = read()
        except SourceError as error:
            self._failure = error
            now = self._clock.monotonic()
            self._backoff.failed(now)
            self._expire(now)
        else:
            self._failure = None
            self._backoff.succeeded()
            self._good_at = self._clock.monotonic()

    def _expire(self, now: float) -> None:
        if self._good_at is not None and now - self._good_at > self._keep_s:
            self.value = self._empty

    def status(self, entries: int) -> SourceStatus:
        """How it stands."""
        failure, good_at = self._failure, self._good_at
        age = None if good_at is None else max(self._clock.monotonic() - good_at, 0.0)
        if failure is None:
            state = SourceState.OK if self._was_polled else SourceState.STARTING
        else:
            absent = failure.reason == "absent" and good_at is None
            state = SourceState.ABSENT if absent else SourceState.FAILED
        return SourceStatus(
            name=self._name,
            subject=self._subject,
            state=state,
            entries=entries,
            age_s=age,
            reason=failure.reason if failure else "",
            message=str(failure) if failure else "",
            remedy=failure.remedy if failure else "",
        )


def off(name: str) -> SourceStatus:
    """Status of a source that the configuration leaves out."""
    return SourceStatus(name=name, state=SourceState.OFF, message="left out by configuration")
