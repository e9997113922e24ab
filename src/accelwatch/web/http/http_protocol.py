"""One connection's HTTP: h11 says what the bytes mean, and this moves them.

Requests that come one behind the other are answered in turn. Nothing here logs what a client has sent:
whoever knocks could fill the log and have credentials written into it.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial

import h11

from accelwatch.web.http.failures import FailureLog
from accelwatch.web.http.reply import DEFAULT_HEADERS, PHRASES, Reply
from accelwatch.web.http.request import Headers, Request, split_target
from accelwatch.web.http.request_body import Body
from accelwatch.web.http.request_head import MAX_HEAD, BadHeadError, HeadReader
from accelwatch.web.pages.bodies import MAX_BODY
from accelwatch.web.pages.page import plain

logger = logging.getLogger(__name__)

# How long what a client still sends is read past, so that it comes to read its answer.
_LINGER_S = 1.0
_VERSIONS = (b"1.0", b"1.1")

Answer = Callable[[Request, Reply], Awaitable[None]]
Spawn = Callable[[Coroutine[None, None, None]], object]


class HttpProtocol(asyncio.Protocol):
    """Reads requests, has each answered, and closes when it is time."""

    _transport: asyncio.Transport

    def __init__(self, answer: Answer, failures: FailureLog, spawn: Spawn) -> None:
        """`spawn` has a request answered, and ends that when the server ends."""
        self._answer = answer
        self._failures = failures
        self._spawn = spawn
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
        self._heads = HeadReader()
        # What h11 has not been given yet.
        self._arrived = bytearray()
        # Of the request in turn; None between requests.
        self._body: Body | None = None
        # Of the request that h11 has parsed last: an answer to HEAD has no body, be it a refusal.
        self._method = "GET"
        self._answering = False
        self._lingering = False
        # Whether the client sends no more; its requests are answered all the same.
        self._has_eof = False
        self._disconnected = False
        # Whether the client reads slower than we write.
        self._full = False
        self._writer: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is open."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """More of a body, or of a request, which waits for its turn."""
        if self._lingering:
            return
        self._arrived += data
        self._resume()
        if len(self._arrived) > MAX_HEAD:
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        """The client sends no more; true while it may still read an answer (RFC 9112, 9.6)."""
        self._has_eof = True
        awaits_reply = self._answering and self._body is not None and self._body.is_complete
        # A TLS connection cannot be half closed: asyncio closes it whatever is returned.
        return awaits_reply and self._transport.get_extra_info("sslcontext") is None

    def pause_writing(self) -> None:
        """The client reads slower than we write."""
        self._full = True

    def resume_writing(self) -> None:
        """The client has caught up."""
        self._full = False
        if self._writer is not None and not self._writer.done():
            self._writer.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """The connection is over; an answer under way finds out when it writes."""
        self._disconnected = True
        self._stop_timer()
        self.resume_writing()
        if self._body is not None:
            self._body.lose()

    async def _drained(self) -> None:
        """Wait until there is room to write. Raises ConnectionError when the client disconnected."""
        if self._full:
            self._writer = asyncio.get_running_loop().create_future()
            await self._writer
        if self._disconnected or self._transport.is_closing():
            raise ConnectionResetError("the client disconnected")

    def _resume(self) -> None:
        """Do what can be done with what is here."""
        try:
            if self._body is None:
                self._body = self._next_request()
            if self._body is not None:
                self._read_body(self._body)
        except BadHeadError as error:
            self._refuse(error.code)
        except h11.RemoteProtocolError as error:
            self._refuse(error.error_status_hint)

    def _next_request(self) -> Body | None:
        """Have the next request answered once its head is here. Raises as `_resume` catches."""
        head = self._heads.read_head(self._arrived)
        if head is None:
            return None
        self._http.receive_data(head)
        event = self._http.next_event()
        assert isinstance(event, h11.Request)
        method = self._method = event.method.decode("ascii")
        if event.http_version not in _VERSIONS:
            raise BadHeadError
        headers = Headers(event.headers)
        path, query = split_target(method, event.target.decode("ascii"))
        body = Body(_length(headers))
        request = Request(
            method=method,
            path=path,
            raw_query=query,
            headers=headers,
            transport=self._transport,
            read=partial(self._read_all, body),
        )
        # A body that is not looked into has no end that we know: nothing can follow it.
        reply = self._reply(method, close=body.missing is None)
        self._start_response(partial(self._answer, request, reply), reply)
        return body

    async def _read_all(self, body: Body) -> bytes:
        """The body that a route needs; sends 100 where the client waits for that (RFC 9110, 10.1.1)."""
        if self._http.they_are_waiting_for_100_continue:
            go_on = h11.InformationalResponse(status_code=100, headers=[])
            self._transport.write(self._http.send(go_on) or b"")
        return await body.read()

    def _read_body(self, body: Body) -> None:
        """Read what has come of the body in turn, and no more."""
        if body.missing is None:
            self._arrived.clear()
            return
        piece = bytes(self._arrived[: body.missing])
        if piece:
            del self._arrived[: len(piece)]
            body.missing -= len(piece)
            self._http.receive_data(piece)
        while not body.is_complete:
            event = self._http.next_event()
            if isinstance(event, h11.Data):
                body.add(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage):
                body.finish()
            else:
                return
        if not self._answering:
            self._follow()

    def _refuse(self, code: int) -> None:
        """A short answer that says what kind of mistake it was; the connection is closed after it."""
        logger.debug("a request cannot be read code=%d", code)
        self._body = Body(None)
        page = plain(code, PHRASES[code].lower())
        reply = self._reply(self._method, close=True)
        headers = {**DEFAULT_HEADERS, **page.headers}
        self._start_response(partial(reply.send, code, headers, page.body), reply)

    def _reply(self, method: str, *, close: bool) -> Reply:
        return Reply(self._http, self._transport, self._drained, method=method, close=close)

    def _start_response(self, answer: Callable[[], Awaitable[None]], reply: Reply) -> None:
        self._answering = True
        self._spawn(self._carry_out(answer, reply))

    async def _carry_out(self, answer: Callable[[], Awaitable[None]], reply: Reply) -> None:
        try:
            await answer()
        except asyncio.CancelledError:
            self._transport.abort()
            raise
        except ConnectionError as error:
            logger.debug("an answer did not arrive error=%s", type(error).__name__)
        except Exception as error:  # noqa: BLE001 - a fault of ours is logged and answered
            self._failures.log_failure("a request failed", error)
            if not reply.started:
                page = plain(500, PHRASES[500].lower())
                headers = {**DEFAULT_HEADERS, **page.headers}
                with contextlib.suppress(ConnectionError):
                    await reply.send(500, headers, page.body, close=True)
        self._answering = False
        if not self._disconnected:
            self._see_to_connection()

    def _see_to_connection(self) -> None:
        """After an answer: close, wait for the rest of the request's body, or go on with the next."""
        assert self._body is not None
        if self._http.our_state is not h11.DONE:
            self._close()
        elif self._body.is_complete:
            self._follow()
        else:
            self._start_timer()

    def _follow(self) -> None:
        self._stop_timer()
        self._http.start_next_cycle()
        self._body, self._method = None, "GET"
        self._resume()
        if self._has_eof and self._body is None:
            self._transport.close()
        if len(self._arrived) <= MAX_HEAD:
            self._transport.resume_reading()

    def _close(self) -> None:
        """Close; a client that may be sending gets its answer only if the server goes on reading."""
        if self._body is not None and self._body.is_complete and not self._arrived:
            self._transport.close()
            return
        self._lingering = True
        self._arrived.clear()
        self._transport.resume_reading()
        self._start_timer()
        if self._http.our_state is h11.MUST_CLOSE and self._transport.can_write_eof():
            with contextlib.suppress(OSError):  # the client was faster
                self._transport.write_eof()

    def _start_timer(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(_LINGER_S, self._transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _length(headers: Headers) -> int | None:
    """Bytes of a body that is looked into; None for one that is not. Raises BadHeadError."""
    if "Transfer-Encoding" in headers:
        if "Content-Length" in headers:
            raise BadHeadError
        return None
    length = int(headers.get("Content-Length", "0"))
    return length if length <= MAX_BODY else None
