"""A daemon thread that waits in a backend's event source and hands over what comes, batch by batch."""

import threading
from contextlib import AbstractContextManager

from accelwatch.backend import EventSource
from accelwatch.base.backoff import Backoff
from accelwatch.base.clock import Clock
from accelwatch.node.sampler.turns.contract import sound_events
from accelwatch.node.sampler.turns.messages import Batch, Inbox
from accelwatch.schema.event import ErrorEvent

_WAIT_S = 1.0
_BATCH = 256
# Least time between two calls, for a source that does not wait when there is nothing.
_PACE_S = 0.05


class Listener:
    """At most one batch is on its way: a flood of events slows its source, not the collector."""

    def __init__(
        self,
        name: str,
        source: EventSource,
        inbox: Inbox,
        clock: Clock,
        noted: AbstractContextManager[None],
    ) -> None:
        """`noted` is entered by the thread: should it crash meanwhile, everybody knows whose it is."""
        self._clock = clock
        self._name = name
        self._source = source
        self._inbox = inbox
        self._stop = threading.Event()
        self._accepted = threading.Event()
        self._noted = noted
        self._thread = threading.Thread(target=self._serve, name=f"{name}:events", daemon=True)

    def start(self) -> None:
        """Let the thread listen."""
        self._thread.start()

    def stop(self) -> None:
        """Let the thread end when its present wait is over."""
        self._stop.set()
        self._accepted.set()

    def _serve(self) -> None:
        with self._noted:
            self._listen()

    def _listen(self) -> None:
        pause = Backoff()
        while not self._stop.is_set():
            started = self._clock.monotonic()
            try:
                events = sound_events(self._source.wait_events(_WAIT_S))
            except BaseException as error:  # noqa: BLE001 - recorded; the thread would end unheard
                if not pause.failures:
                    import logging

                    logger = logging.getLogger(__name__)
                    logger.warning("event source fails error=%r backend=%s", error, self._name)
                self._stop.wait(pause.failed(0.0))
                continue
            pause.succeeded()
            if events:
                self._hand_over(events)
            elif self._clock.monotonic() - started < _PACE_S:
                self._stop.wait(_PACE_S)

    def _hand_over(self, events: tuple[ErrorEvent, ...]) -> None:
        for start in range(0, len(events), _BATCH):
            if self._stop.is_set():
                return
            self._accepted.clear()
            batch = events[start : start + _BATCH]
            self._inbox.put(Batch(backend=self._name, events=batch, accepted=self._accepted.set))
            self._accepted.wait()
