"""The answer to one request as it goes over the wire: its head, its body at once or piece by piece."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping

import h11

# A body up to this size goes out in one write with its head.
_JOINED = 256 << 10
# The codes that are answered. The standard library has them all, in 70 KiB.
PHRASES = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    413: "Request Entity Too Large",
    415: "Unsupported Media Type",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    501: "Not Implemented",
    503: "Service Unavailable",
}
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = (
    *("Jan", "Feb", "Mar", "Apr", "May", "Jun"),
    *("Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
)
DEFAULT_HEADERS = {
    "Server": "accelwatch",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
}


class Reply:
    """Writes one answer; every write waits while the client does not read."""

    def __init__(
        self,
        http: h11.Connection,
        transport: asyncio.Transport,
        drain: Callable[[], Awaitable[None]],
        *,
        method: str,
        close: bool = False,
    ) -> None:
        """`drain` raises ConnectionError once the client disconnected; `close` after this answer."""
        self._http = http
        self._transport = transport
        self._drain = drain
        # Whether only the head was requested.
        self.bodiless = method == "HEAD"
        self._close = close
        # That of the answer, once there is one.
        self.code = 500
        self.started = False

    async def send(
        self, code: int, headers: Mapping[str, str], body: bytes, *, close: bool = False
    ) -> None:
        """The whole answer. Raises ConnectionError."""
        self.code = code
        await self._drain()
        head = self._head(code, {**headers, "Content-Length": str(len(body))}, close)
        if self.bodiless:
            body = b""
        self._http.send(h11.Data(data=body))
        self._http.send(h11.EndOfMessage())
        if len(body) <= _JOINED:
            self._transport.write(head + body)
        else:
            self._transport.write(head)
            self._transport.write(body)
        await self._drain()

    async def start(self, code: int, headers: Mapping[str, str], *, close: bool = False) -> None:
        """The head of an answer whose length is not known. Raises ConnectionError."""
        self.code = code
        await self._drain()
        self._transport.write(self._head(code, headers, close))

    async def write(self, piece: bytes) -> None:
        """More of the body. Raises ConnectionError."""
        await self._drain()
        self._transport.write(self._http.send(h11.Data(data=piece)) or b"")
        await self._drain()

    async def finish(self) -> None:
        """That was the body. Raises ConnectionError."""
        await self._drain()
        self._transport.write(self._http.send(h11.EndOfMessage()) or b"")
        await self._drain()

    def backlog(self) -> int:
        """Bytes that the client's connection has not read yet. Raises ConnectionError."""
        if self._transport.is_closing():
            raise ConnectionResetError("the client disconnected")
        return self._transport.get_write_buffer_size()

    def _head(self, code: int, headers: Mapping[str, str], close: bool) -> bytes:
        fields = [(name.encode(), value.strip().encode()) for name, value in headers.items()]
        fields.append((b"Date", http_date(int(time.time()))))
        if close or self._close:
            fields.append((b"Connection", b"close"))
        response = h11.Response(
            status_code=code, headers=fields, reason=PHRASES.get(code, "").encode()
        )
        self.started = True
        return self._http.send(response) or b""


def http_date(timestamp: int) -> bytes:
    """A moment as headers say it, in any locale (RFC 9110, section 5.6.7)."""
    year, month, day, hour, minute, second, weekday, *_ = time.gmtime(timestamp)
    text = f"{_DAYS[weekday]}, {day:02} {_MONTHS[month - 1]} {year:04} {hour:02}:{minute:02}:{second:02}"
    return f"{text} GMT".encode()
