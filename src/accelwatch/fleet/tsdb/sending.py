"""Requests of remote write on their way: a bounded queue, sent in order, again after trouble."""

import asyncio
import contextlib
import logging
import time
from collections import deque

import msgspec

from accelwatch.backoff import SpreadBackoff, retry_after
from accelwatch.fleet.follow.body import read_body
from accelwatch.fleet.follow.faults import Reason, TargetFault
from accelwatch.fleet.tsdb.peer import Peer

logger = logging.getLogger(__name__)

_HEADERS = {
    "Content-Type": "application/x-protobuf",
    "Content-Encoding": "snappy",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
    "Accept-Encoding": "identity",
}
_MAX_REASON_BYTES = 64 << 10
_SHOWN = 200


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Compressed samples."""

    body: bytes
    samples: int
    newest: float
    """Unix seconds of its newest sample."""


class Counts(msgspec.Struct, kw_only=True):
    """What became of the samples, over all shards."""

    sent: int = 0
    failed: int = 0
    dropped: int = 0
    retries: int = 0
    bytes: int = 0
    newest: float | None = None
    """Unix seconds of the newest sample that was taken."""


class Shard:
    """One queue with one request under way: what is put in first arrives first."""

    def __init__(self, peer: Peer, counts: Counts, limit_bytes: int, max_backoff_s: float) -> None:
        self._peer = peer
        self._counts = counts
        self._limit = limit_bytes
        self._backoff = SpreadBackoff(max_backoff_s)
        self._queue: deque[Request] = deque()
        self._held_bytes = 0
        self._filled = asyncio.Event()
        self._logged: set[str] = set()
        """Kinds of trouble that were logged since a request was taken."""

    @property
    def pending(self) -> int:
        """Samples that wait."""
        return sum(batch.samples for batch in self._queue)

    @property
    def empty(self) -> bool:
        """Whether everything has been sent or given up."""
        return not self._queue

    def put(self, request: Request) -> None:
        """Queue a request; the oldest give way when there is no room."""
        self._queue.append(request)
        self._held_bytes += len(request.body)
        while self._held_bytes > self._limit and len(self._queue) > 1:
            self._counts.dropped += self._queue[0].samples
            self._take_off()
        self._filled.set()

    def _take_off(self) -> None:
        self._held_bytes -= len(self._queue.popleft().body)

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            while not self._queue:
                self._filled.clear()
                await self._filled.wait()
            request = self._queue[0]
            try:
                await self._send(request)
            except TargetFault as fault:
                if _passes(fault):
                    self._say("waits", f"reason={fault.reason}: {fault}")
                    self._counts.retries += 1
                    await asyncio.sleep(self._backoff.next(fault.retry_after_s))
                    continue
                self._counts.failed += request.samples
                self._say("is refused", f"code={fault.code}: {fault}")
            else:
                self._taken(request)
            self._backoff.succeeded()
            if self._queue and self._queue[0] is request:
                self._take_off()

    def _taken(self, request: Request) -> None:
        counts = self._counts
        counts.sent += request.samples
        counts.bytes += len(request.body)
        counts.newest = max(request.newest, counts.newest or 0.0)
        if self._logged:
            logger.info("remote write goes well again")
            self._logged.clear()

    async def _send(self, request: Request) -> None:
        async with self._peer.request("POST", "", _HEADERS, body=request.body) as response:
            code = response.status
            if 200 <= code < 300:
                return
            reason = b""
            with contextlib.suppress(TargetFault):
                reason = await read_body(response, _MAX_REASON_BYTES)
            text = " ".join(reason.decode("utf-8", "replace").split())[:_SHOWN]
            raise TargetFault(
                Reason.BUSY if code == 429 or code >= 500 else Reason.STATUS,
                f"answered {code}: {text}",
                code=code,
                retry_after_s=retry_after(response.headers.get("Retry-After"), time.time()),
            )

    def _say(self, kind: str, text: str) -> None:
        """Log each kind of trouble once until a request is taken."""
        if kind not in self._logged:
            logger.warning("remote write %s %s", kind, text)
            self._logged.add(kind)


def _passes(fault: TargetFault) -> bool:
    """Whether it may go better later: no answer at all, 429 or 5xx."""
    return fault.reason is Reason.BUSY or not fault.code
