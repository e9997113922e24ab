"""Polls a slow source that answers for many devices at once, at its own pace.

Vendor commands take 0.5 to 2 s as a rule, devices are read every second. A reader of a device gets
the newest answer with its age; one thread, never two, polls for the next when it is due.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import msgspec

from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.backoff import Backoff
from accelwatch.base.clock import Clock
from accelwatch.base.errors import AccelwatchError, DeviceTimeout

T = TypeVar("T")

# For one run of a command.
TIMEOUT_S = 5.0
PACE_S = 2.0
PATIENCE_S = 0.3
# Failures in a row after which the answer before them is still given, with its age.
_FORGIVEN = 1
# The pace is at least so many times the length of a poll: the source is idle half of the time.
_SHARE = 2.0


def pace_of(options: Mapping[str, object], backend: str) -> float:
    """The option `pace_s`, seconds between two runs. Raises BackendUnavailable for what is none."""
    value = options.get("pace_s", PACE_S)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.1 <= value <= 3600:
        raise BackendUnavailable(
            f"pace_s: {value!r} is not a valid number of seconds from 0.1 to 3600",
            reason="option",
            remedy=f"fix collect.options.{backend}.pace_s in the configuration",
        )
    return float(value)


class PolledDocument(msgspec.Struct, Generic[T], frozen=True):
    """What a source said, and how old that is."""

    document: T
    # Seconds since it had been read.
    age_s: float
    # Seconds from one answer to the next, as things are.
    pace_s: float


class Polled(Generic[T]):
    """Keeps the newest answer of `query`; any thread may call.

    `query` may raise AccelwatchError, and must come back: whatever it calls needs a deadline of its own.
    """

    def __init__(
        self,
        query: Callable[[], T],
        clock: Clock,
        *,
        pace_s: float = PACE_S,
        patience_s: float | None = None,
    ) -> None:
        """`patience_s` is how long a reader waits for an answer that is due, while there is an older.

        It is PATIENCE_S unless it is given.
        """
        self._query = query
        self._clock = clock
        self._pace_s = pace_s
        self._patience_s = PATIENCE_S if patience_s is None else patience_s
        # Guards the document, its time, the error and the current round: workers of several devices
        # read them while the thread of the round replaces them. Never held during a round.
        self._lock = threading.Lock()
        # Set when the round that is under way is over.
        self._round: threading.Event | None = None
        self._document: T | None = None
        self._read_at = 0.0
        self._duration_s = 0.0
        self._error: AccelwatchError | None = None
        self._backoff = Backoff(first_s=pace_s, free=_FORGIVEN)
        self._closed = False

    @property
    def pace_s(self) -> float:
        """Seconds from one answer to the next."""
        return max(self._pace_s, _SHARE * self._duration_s)

    def answer(self, wait_s: float) -> PolledDocument[T]:
        """The newest answer; without any, the first is waited for `wait_s` at most.

        Raises what `query` raised, when it did so twice in a row or never gave an answer, and
        DeviceTimeout when there is none yet.
        """
        with self._lock:
            over = self._due_round()
            has_document = self._document is not None
        if over is not None:
            over.wait(min(self._patience_s, wait_s) if has_document else wait_s)
        with self._lock:
            return self._newest()

    def close(self) -> None:
        """Stop polling."""
        self._closed = True

    def _due_round(self) -> threading.Event | None:
        """The poll under way, started now if one is due; None when the answer is new enough."""
        if self._round is not None:
            return self._round
        now = self._clock.monotonic()
        has_result = self._document is not None or self._error is not None
        due = not has_result or now - self._read_at >= self.pace_s
        if self._closed or not due or not self._backoff.ready(now):
            return None
        self._round = threading.Event()
        # A daemon: nobody waits for a vendor's command when the process ends.
        threading.Thread(target=self._poll, args=(self._round,), daemon=True).start()
        return self._round

    def _poll(self, over: threading.Event) -> None:
        started = self._clock.monotonic()
        document: T | None = None
        error: AccelwatchError | None = None
        try:
            document = self._query()
        except AccelwatchError as failure:
            error = failure
        except Exception as failure:  # noqa: BLE001 - a parser's bug costs an answer, not the thread
            error = AccelwatchError(f"{type(failure).__name__}: {failure}")
        with self._lock:
            now = self._clock.monotonic()
            self._duration_s, self._error, self._round = now - started, error, None
            if error is None:
                self._document, self._read_at = document, now
                self._backoff.succeeded()
            else:
                self._backoff.failed(now)
        over.set()

    def _newest(self) -> PolledDocument[T]:
        if self._error is not None and (
            self._document is None or self._backoff.failures > _FORGIVEN
        ):
            raise self._error
        if self._document is None:
            raise DeviceTimeout("the source has not answered yet", code="timeout")
        return PolledDocument(self._document, self._clock.monotonic() - self._read_at, self.pace_s)
