"""A connection over HTTP/1.1 that is kept from one answer of a server to the next."""

import asyncio
import math
import ssl

from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.failures.texts import SCHEME_HINTS, os_text, tls_text
from accelwatch.fleet.follow.http.exchange import Exchange, OpenAnswer
from accelwatch.fleet.follow.http.request import Request


class KeptConnection(asyncio.BufferedProtocol):
    """One connection; one request at a time."""

    def __init__(self, buffer: memoryview) -> None:
        """`buffer` may be all connections' of a loop: its content is read before the next one writes."""
        self._buffer = buffer
        self._transport: asyncio.Transport | None = None
        self._exchange: Exchange | None = None
        self._waiting: asyncio.Future[Exchange] | None = None
        self._until = math.inf
        self._alarm: asyncio.TimerHandle | None = None
        # Whether another request may be sent.
        self.is_open = False
        # Why it ended before an answer came.
        self._lost = TargetFault(Reason.CLOSED, "the connection was closed")

    async def fetch(self, request: Request, open_answer: OpenAnswer, until: float) -> Exchange:
        """The complete answer. Raises TargetFault, and what `open_answer` and the body raise.

        `until` is a time of the loop.
        """
        loop = asyncio.get_running_loop()
        if self._transport is None or not self.is_open:
            raise self._lost
        exchange = self._exchange = Exchange(request, open_answer)
        waiting = self._waiting = loop.create_future()
        self.is_open = False
        self._transport.write(exchange.request_bytes)
        self._until = until
        self._alarm = loop.call_at(until, self._late)
        try:
            await waiting
        finally:
            self._alarm.cancel()
            self._waiting = self._exchange = None
            if not self.is_open:
                self.close()
        return exchange

    def prolong(self, until: float) -> None:
        """Give the answer more time: it is one that goes on."""
        self._until = until

    def close(self) -> None:
        """Let go of the connection."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.is_open = True

    def get_buffer(self, _sizehint: int) -> memoryview:
        """Where the next bytes go."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes have come."""
        exchange = self._exchange
        if exchange is None:  # no request is open
            self.close()
            return
        try:
            complete = exchange.feed(bytes(self._buffer[:nbytes]))
        except Exception as error:  # noqa: BLE001 - the caller gets it, whatever it is
            self._fail(error)
            return
        if complete:
            self._deliver(exchange)

    def connection_lost(self, error: Exception | None) -> None:
        """The other side has ended it, or nothing reaches it any more."""
        self.is_open = False
        exchange = self._exchange
        if isinstance(error, ssl.SSLError):
            self._lost = TargetFault(Reason.TLS, tls_text(error))
        elif isinstance(error, OSError):
            self._lost = TargetFault(Reason.CLOSED, f"the connection was closed: {os_text(error)}")
        if exchange is None:
            return
        try:
            if isinstance(error, OSError) and not exchange.status:
                raise self._lost
            if not exchange.started:
                raise TargetFault(Reason.CLOSED, f"closed without an answer{self._hint()}")
            if error is not None:
                raise TargetFault(Reason.GARBAGE, "connection closed mid-response, or not HTTP")
            exchange.finish()
        except TargetFault as fault:
            self._fail(fault)
        else:
            self._deliver(exchange)

    def _hint(self) -> str:
        secure = self._transport is not None and self._transport.get_extra_info("ssl_object")
        return SCHEME_HINTS["https" if secure else "http"]

    def _deliver(self, exchange: Exchange) -> None:
        self._exchange = None
        if self._waiting is not None and not self._waiting.done():
            self.is_open = exchange.keeps
            self._waiting.set_result(exchange)

    def _fail(self, error: Exception) -> None:
        self._exchange = None
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(error)
        self.close()

    def _late(self) -> None:
        loop = asyncio.get_running_loop()
        # A stream gets more time with each tick; one timer for all of them is cheaper than one for each.
        if loop.time() < self._until:
            self._alarm = loop.call_at(self._until, self._late)
        else:
            self._fail(TargetFault(Reason.TIMEOUT, "no complete answer in time"))
