"""Calls about a backend as a whole: open, discover, close. One at a time, on a worker of their own."""

import math
from collections.abc import Callable

from accelwatch.node.sampler.turns.calls import CollectorContext
from accelwatch.node.sampler.turns.messages import CallResult


class Control:
    """The control worker of one backend, and since when a call on it is out."""

    def __init__(self, name: str, collector: CollectorContext) -> None:
        self._name = name
        self._collector = collector
        self.worker = collector.worker(f"{name}:control")
        # Monotonic seconds; None while no call is out.
        self._since: float | None = None
        # Whether it was said already that the call does not come back.
        self._expired = False

    @property
    def busy(self) -> bool:
        """Whether a call is out."""
        return self._since is not None

    @property
    def deadline(self) -> float:
        """Until when the call that is out has to come back; infinite when none is, or it expired."""
        if self._since is None or self._expired:
            return math.inf
        return min(self._since + self._collector.settings.open_timeout_s, self._collector.end)

    def call(
        self, action: str, job: Callable[[], object], then: Callable[[CallResult], None]
    ) -> None:
        """Call on the worker; `then` gets the answer on the loop, however late."""

        def answered(answer: CallResult) -> None:
            self._since = None
            self._expired = False
            then(answer)

        self._since = self._collector.clock.monotonic()
        self._collector.calls.start(self.worker, job, answered, backend=self._name, action=action)

    def expire(self, now: float) -> bool:
        """Whether the call that is out is past its deadline; True once a call."""
        if now < self.deadline:
            return False
        self._expired = True
        return True

    def waited_s(self, now: float) -> float:
        """How long the call has been out; 0 when none is."""
        return 0.0 if self._since is None else now - self._since

    def release_thread(self) -> None:
        """Let the thread go until the next call."""
        self.worker.release_thread()

    def stop(self) -> None:
        """Let the worker end when it is free."""
        self.worker.stop()
