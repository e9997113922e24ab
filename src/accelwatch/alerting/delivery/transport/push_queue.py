"""Samples on their way to a receiver: a bounded queue of requests, sent in order, and again."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable

import msgspec

from accelwatch.base.backoff import SpreadBackoff

logger = logging.getLogger(__name__)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Compressed samples."""

    body: bytes
    samples: int
    # Unix seconds of its newest sample.
    newest: float


class Counts(msgspec.Struct, kw_only=True):
    """What became of the samples, over all queues of one receiver."""

    sent: int = 0
    failed: int = 0
    dropped: int = 0
    retries: int = 0
    bytes: int = 0
    # Unix seconds of the newest accepted sample.
    newest: float | None = None


class NotAccepted(Exception):  # noqa: N818 - a state of the receiver, not a mistake
    """A request was not accepted; the text has no URL and no secret."""

    def __init__(
        self, text: str, *, passes: bool, label: str = "", retry_after_s: float | None = None
    ) -> None:
        super().__init__(text)
        # Whether it may go better later.
        self.passes = passes
        # What stands before the text in a log: `code=400`.
        self.label = label
        self.retry_after_s = retry_after_s


class PushQueue:
    """One queue with one request under way: what is put in first arrives first."""

    def __init__(
        self,
        name: str,
        send: Callable[[Request], Awaitable[int]],
        counts: Counts,
        limit_bytes: int,
        max_backoff_s: float,
    ) -> None:
        """`name` is for logs; `send` returns how many samples were refused, or raises NotAccepted."""
        self._name = name
        self._send = send
        self._counts = counts
        self._limit = limit_bytes
        self._backoff = SpreadBackoff(max_backoff_s)
        self._queue: deque[Request] = deque()
        self._queued_bytes = 0
        self._filled = asyncio.Event()
        # Kinds of trouble that were logged since a request was accepted.
        self._logged: set[str] = set()

    @property
    def pending(self) -> int:
        """Samples that wait."""
        return sum(batch.samples for batch in self._queue)

    @property
    def empty(self) -> bool:
        """Whether everything has been sent or given up."""
        return not self._queue

    def enqueue(self, request: Request) -> None:
        """Queue a request; the oldest give way when there is no room."""
        self._queue.append(request)
        self._queued_bytes += len(request.body)
        while self._queued_bytes > self._limit and len(self._queue) > 1:
            self._counts.dropped += self._queue[0].samples
            self._dequeue()
        self._filled.set()

    def _dequeue(self) -> None:
        self._queued_bytes -= len(self._queue.popleft().body)

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            while not self._queue:
                self._filled.clear()
                await self._filled.wait()
            request = self._queue[0]
            try:
                refused = await self._send(request)
            except NotAccepted as fault:
                if fault.passes:
                    self._log_once("waits", f"{fault.label}: {fault}")
                    self._counts.retries += 1
                    await asyncio.sleep(self._backoff.next(fault.retry_after_s))
                    continue
                self._counts.failed += request.samples
                self._log_once("is refused", f"{fault.label}: {fault}")
            else:
                self._record_accepted(request, refused)
            self._backoff.succeeded()
            if self._queue and self._queue[0] is request:
                self._dequeue()

    def _record_accepted(self, request: Request, refused: int) -> None:
        counts = self._counts
        counts.sent += request.samples - refused
        counts.failed += refused
        counts.bytes += len(request.body)
        counts.newest = max(request.newest, counts.newest or 0.0)
        if self._logged:
            logger.info("%s goes well again", self._name)
            self._logged.clear()

    def _log_once(self, kind: str, text: str) -> None:
        """Log each kind of trouble once until a request is accepted."""
        if kind not in self._logged:
            logger.warning("%s %s %s", self._name, kind, text)
            self._logged.add(kind)
