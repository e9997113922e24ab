"""One request and its answer over HTTP: no redirects, proxies or cookies; body and time are bounded."""

import asyncio
import os
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from weakref import WeakSet

import aiohttp
import msgspec
from yarl import URL

from accelwatch.api_client.errors import NoAnswerError
from accelwatch.base.backoff import retry_after
from accelwatch.base.version import __version__

# A page of 500 pods is 5 MB, and a single object at most 1.5 MiB (etcd's --max-request-bytes).
MAX_BODY_BYTES = 64 << 20
# Of an answer that is an error: its reason.
_MAX_ERROR_BYTES = 64 << 10
# For name, TCP and TLS together: a server that does not answer these has got nothing.
_CONNECT_S = 5.0
# 100 patches a second that a webhook keeps for 0.3 s each.
_CONNECTIONS = 32
# A watch sends a bookmark about each minute; one without a line for longer is on a dead connection.
_SILENCE_S = 90.0

# Turns of the loop in which a connection that was shut down ends.
_TURNS = 10
# A peer that is gone is noticed after half a minute.
_KEEPALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}

Headers = Mapping[str, str]


class ApiResponse(msgspec.Struct, frozen=True, kw_only=True):
    """What the server answered."""

    status: int
    body: bytes
    retry_after_s: float | None = None
    # What the answer's Date says; empty without one.
    date: str = ""

    @property
    def well(self) -> bool:
        """Whether the request was granted."""
        return 200 <= self.status < 300


class Session:
    """The connections to one server; they begin with the first request."""

    def __init__(self, base: str, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self._base = base
        self._max_bytes = max_body_bytes
        self._opened: aiohttp.ClientSession | None = None
        self._sockets: WeakSet[socket.socket] = WeakSet()

    async def request(
        self,
        method: str,
        path: str,
        *,
        tls: ssl.SSLContext | None,
        timeout_s: float,
        headers: Headers,
        body: bytes | None = None,
    ) -> ApiResponse:
        """The answer, whatever its status. Raises NoAnswerError."""
        with _explained():
            async with (
                asyncio.timeout(timeout_s),
                self._open(method, path, tls, headers, body) as response,
            ):
                return await self._answer(response)

    async def stream(
        self,
        path: str,
        *,
        tls: ssl.SSLContext | None,
        timeout_s: float,
        headers: Headers,
        opened: Callable[[], None],
        feed: Callable[[bytes], None],
    ) -> ApiResponse:
        """The answer when the server ends it; of one that is granted `feed` gets the body in pieces.

        Raises NoAnswerError, and what `feed` raises.
        """
        with _explained():
            async with (
                asyncio.timeout(timeout_s),
                self._open("GET", path, tls, headers, None) as response,
            ):
                if response.status != 200:
                    return await self._answer(response)
                opened()
                while chunk := await self._next_chunk(response.content):
                    feed(chunk)
                return ApiResponse(status=response.status, body=b"")

    @staticmethod
    async def _next_chunk(stream: aiohttp.StreamReader) -> bytes:
        try:
            async with asyncio.timeout(_SILENCE_S):
                return await stream.readany()
        except TimeoutError:
            raise NoAnswerError(f"nothing came for {_SILENCE_S:g} s", sent=True) from None

    async def _answer(self, response: aiohttp.ClientResponse) -> ApiResponse:
        well = 200 <= response.status < 300
        limit = self._max_bytes if well else _MAX_ERROR_BYTES
        body = bytearray()
        while chunk := await response.content.readany():
            body += chunk
            if len(body) > limit and well:
                raise NoAnswerError(f"a body of more than {limit} bytes", sent=True)
            if len(body) > limit:
                break  # its status is an answer, however long the page is that came with it
        return ApiResponse(
            status=response.status,
            body=bytes(body),
            retry_after_s=retry_after(response.headers.get("Retry-After"), time.time()),
            date=response.headers.get("Date", ""),
        )

    @asynccontextmanager
    async def _open(
        self,
        method: str,
        path: str,
        tls: ssl.SSLContext | None,
        headers: Headers,
        body: bytes | None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        if self._opened is None:
            self._opened = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=_CONNECTIONS, socket_factory=self._probed_socket
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S),
                headers={"User-Agent": f"accelwatch/{__version__}"},
            )
        async with self._opened.request(
            method,
            URL(self._base + path, encoded=True),
            data=body,
            headers=headers,
            allow_redirects=False,
            ssl=True if tls is None else tls,
        ) as response:
            try:
                yield response
            finally:
                # What is left before its end is not wound up: TLS would wait for the server to agree.
                connection = response.connection
                if connection is not None and connection.transport is not None:
                    connection.transport.abort()

    def _probed_socket(self, address: aiohttp.AddrInfoType) -> socket.socket:
        """One whose peer is probed: a watch sends nothing, and would not learn that it is gone."""
        family, kind, protocol = address[:3]
        made = socket.socket(family, kind, protocol)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, seconds in _KEEPALIVE.items():
            if hasattr(socket, name):  # macOS has another name for the first
                made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), seconds)
        self._sockets.add(made)
        return made

    async def close(self) -> None:
        """End what is under way, and give the connections back.

        To be called before the tasks that wait for answers are cancelled: those would close their
        connections the long way, which waits for the server's part of the TLS shutdown.
        """
        if self._opened is None:
            return
        if self._opened.connector is not None:
            await self._opened.connector.close(abort_ssl=True)
        await self._opened.close()
        # What was about to connect belongs to nobody yet; it ends as if the server had hung up.
        for _ in range(_TURNS):
            remaining = [made for made in self._sockets if made.fileno() >= 0]
            for made in remaining:
                with suppress(OSError):  # not connected, or not any more
                    made.shutdown(socket.SHUT_RDWR)
            if not remaining:
                break
            await asyncio.sleep(0)


@contextmanager
def _explained() -> Iterator[None]:
    """Raise NoAnswerError for what aiohttp raises; its texts have the URL, these have none."""
    try:
        yield
    except aiohttp.ConnectionTimeoutError:
        raise NoAnswerError("cannot be reached: timed out", sent=False) from None
    except TimeoutError:
        raise NoAnswerError("no answer in time", sent=True) from None
    except aiohttp.ClientConnectorDNSError:
        raise NoAnswerError("the name does not resolve", sent=False) from None
    except aiohttp.ClientSSLError as error:
        inner = getattr(error, "certificate_error", None) or error.os_error
        reason = getattr(inner, "verify_message", "") or getattr(inner, "reason", "") or "refused"
        raise NoAnswerError(f"TLS failed: {reason}", sent=False) from None
    except ssl.SSLError as error:
        # A server that wants another certificate of ours says so after the handshake (TLS 1.3).
        raise NoAnswerError(f"TLS failed: {error.reason}", sent=True) from None
    except aiohttp.ClientOSError as error:
        text = os.strerror(error.errno) if error.errno else "connection lost"
        sent = not isinstance(error, aiohttp.ClientConnectorError)
        raise NoAnswerError(f"cannot be reached: {text}", sent=sent) from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        text = f"no HTTP answer: {type(error).__name__}"
        raise NoAnswerError(text, sent=True) from None
