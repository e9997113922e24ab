"""An HTTP server over given pages: admits requests, finds their page, sends it, ends in good order.

The agent and the hub differ in their pages and streams; who may read them, and the bounds, are alike.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Coroutine, Iterable, Sequence

from accelwatch.base.clock import Clock
from accelwatch.base.errors import AccelwatchError, FollowsError, UnmetError
from accelwatch.web.http.admission import RETRY, Admission
from accelwatch.web.http.failures import FailureLog
from accelwatch.web.http.http_protocol import HttpProtocol
from accelwatch.web.http.reply import DEFAULT_HEADERS, Reply
from accelwatch.web.http.request import Request
from accelwatch.web.http.request_reading import change_of, guest_of, query_of, visit_of
from accelwatch.web.http.sources import PageSource, ServerLimits, StreamSource
from accelwatch.web.http.stream import STREAM, Stalled
from accelwatch.web.pages.negotiation import choose
from accelwatch.web.pages.page import (
    BusyError,
    Headers,
    Page,
    VisitedPages,
    plain,
)
from accelwatch.web.protection.web_config import Protection
from accelwatch.web.sockets.connections import Connection, Connections

logger = logging.getLogger(__name__)

_READING = ("GET", "HEAD")
# For answers whose connections have been closed.
_FINAL_REPLY_S = 0.1
# Answers after which a connection is closed.
_LAST = frozenset({401, 413, 415})


class HttpServer:
    """One server over any number of listening sockets; the loop's thread only."""

    def __init__(
        self,
        pages: PageSource,
        source: StreamSource,
        clock: Clock,
        *,
        answered: Callable[[str, int, float], None] = lambda _path, _code, _seconds: None,
        limits: ServerLimits | None = None,
        protection: Protection | None = None,
        visited: VisitedPages | None = None,
    ) -> None:
        """`answered` gets path, code and duration in seconds of every answer."""
        self._visited = visited
        self.limits = limits or ServerLimits()
        self.protection = protection or Protection()
        self._pages = pages
        self._source = source
        self._clock = clock
        self._answered = answered
        self._admission = Admission()
        self._failures = FailureLog(logger, clock)
        self._answering: set[asyncio.Task[None]] = set()
        self._connections = Connections(
            self._protocol, self.limits.connections, lambda: self.protection.tls
        )
        self._beating: asyncio.Task[None] | None = None
        self._in_flight = 0
        self._sending: dict[Connection, float] = {}
        # Streams open now.
        self.streams = 0
        self._idle = asyncio.Event()
        self._stopping = False

    @property
    def connections(self) -> int:
        """Connections open now."""
        return len(self._connections.open)

    def set_limits(self, limits: ServerLimits) -> None:
        """Other bounds from now on."""
        self.limits = limits
        self._connections.limits = limits.connections

    def start(self, sockets: Iterable[socket.socket]) -> None:
        """Serve on listening sockets, which the server closes in the end."""
        self._beating = asyncio.get_running_loop().create_task(self._source.run())
        self._connections.listen(sockets)

    async def stop(self, grace_s: float = 1.0) -> None:
        """Accept nothing more, let what is under way end within the grace, then abort the rest."""
        self._stopping = True
        await self._connections.stop_accepting()
        self._source.close()
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                while self._in_flight or self.streams:
                    self._idle.clear()
                    await self._idle.wait()
        await self._connections.close()
        await self._give_up_answers()
        self._admission.close()

    async def _give_up_answers(self) -> None:
        if self._answering:
            _, late = await asyncio.wait(self._answering, timeout=_FINAL_REPLY_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _protocol(self) -> asyncio.Protocol:
        return HttpProtocol(self._handle, self._failures, self._spawn)

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _handle(self, request: Request, reply: Reply) -> None:
        started = self._clock.monotonic()
        connection = self._connections.of(request.transport)
        if connection is not None:
            connection.request_started(timed=True)
        try:
            await self._answer(request, reply, connection)
        finally:
            if connection is not None:
                connection.request_finished()
            self._answered(request.path, reply.code, self._clock.monotonic() - started)

    async def _answer(self, request: Request, reply: Reply, connection: Connection | None) -> None:
        if self._in_flight >= self.limits.requests and not self._make_room():
            await self._send(reply, plain(503, "too many requests", RETRY))
            return
        self._in_flight += 1
        try:
            page = await self._page(request)
            if page is not None:
                if connection is not None:
                    self._sending[connection] = self._clock.monotonic()
                await self._send(reply, page)
                return
        finally:
            if connection is not None:
                self._sending.pop(connection, None)
            self._in_flight -= 1
            self._idle.set()
        await self._stream(request, reply, connection)

    def _make_room(self) -> bool:
        """Let go of the client that has been reading its answer for longest, if it is slow."""
        for connection, since in self._sending.items():
            if self._clock.monotonic() - since < self.limits.slow_s:
                return False
            del self._sending[connection]
            connection.abort()
            return True
        return False

    async def _page(self, request: Request) -> Page | None:
        """The answer; None when it is a stream, which outlasts a request."""
        visited = self._visited
        if visited is not None and not visited.methods(request.path):
            visited = None
        admitted = await self._admission.admit(
            request, self.protection, self.limits.allowed_hosts, guest_of(request, visited)
        )
        refusal = admitted.refusal or self._route_refusal(request)
        if refusal is not None:
            return refusal
        try:
            query = query_of(request)
            if request.path == STREAM and request.method == "GET":
                self._source.check(query)
                return None
            if request.method not in _READING:
                change = await change_of(request, query, admitted)
                return await (self._pages if visited is None else visited).act(change)
            if visited is not None:
                return await visited.show(visit_of(request, query, admitted))
            page = self._pages.page(request.path, query, request.headers)
            return page if isinstance(page, Page) else await page
        except AccelwatchError as error:
            return _refused(error)
        except Exception as error:  # noqa: BLE001 - a fault in a page is logged and answered
            self._failures.log_failure("a page failed", error, f"path={request.path[:100]}")
            return plain(500, "internal error")

    def _route_refusal(self, request: Request) -> Page | None:
        """Why a path or method is not answered."""
        methods = self._pages.methods(request.path)
        if not methods and self._visited is not None:
            methods = self._visited.methods(request.path)
        if not methods:
            return plain(404, "no such page")
        if request.method not in methods:
            return plain(405, f"only {_listed(methods)} answered", {"Allow": ", ".join(methods)})
        return None

    async def _send(self, reply: Reply, page: Page) -> None:
        headers = self._headers(page.headers)
        last = self._stopping or page.code in _LAST
        if page.chunks is None:
            await reply.send(page.code, headers, page.body, close=last)
            return
        await reply.start(page.code, headers, close=last)
        if not reply.bodiless:
            async for piece in page.chunks():
                await reply.write(piece)
        await reply.finish()

    def _headers(self, headers: dict[str, str]) -> dict[str, str]:
        return {**DEFAULT_HEADERS, **self.protection.headers, **headers}

    async def _stream(self, request: Request, reply: Reply, connection: Connection | None) -> None:
        offered = self._source.offered
        media = choose(request.headers.get("Accept", ""), offered)
        if media is None:
            return await self._send(reply, plain(406, f"there are {', '.join(offered)}"))
        if self.streams >= self.limits.streams or self._stopping:
            return await self._send(reply, plain(503, "too many streams", RETRY))
        if connection is not None:
            connection.request_started(timed=False)
        headers = {"Content-Type": media, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        self.streams += 1
        stall_s = self.limits.stall_s
        outlet = _Outlet(reply, request.headers, stall_s)
        try:
            await reply.start(200, self._headers(headers), close=True)
            await self._source.send(media, outlet, query_of(request), stall_s)
            await reply.finish()
        except (Stalled, TimeoutError):
            logger.info("a stream's client does not read and is let go")
            request.transport.abort()
        finally:
            self.streams -= 1
            self._idle.set()
        return None


def _listed(methods: Sequence[str]) -> str:
    *most, last = methods
    return f"{', '.join(most)} and {last} are" if most else f"{last} is"


class _Outlet:
    """Writes to an answer; a write that waits longer than the stall time is given up."""

    def __init__(self, reply: Reply, headers: Headers, stall_s: float) -> None:
        self._reply = reply
        self.headers = headers
        self._stall_s = stall_s

    async def write(self, data: bytes) -> None:
        async with asyncio.timeout(self._stall_s):
            await self._reply.write(data)

    def backlog(self) -> int:
        return self._reply.backlog()


def _refused(error: AccelwatchError) -> Page:
    """What cannot be answered, and why."""
    match error:
        case UnmetError():
            return plain(404, str(error))
        case FollowsError():
            return plain(409, str(error))
        case BusyError():
            return plain(503, str(error), RETRY)
        case _:
            return plain(400, str(error))
