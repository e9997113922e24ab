"""aiohttp's HTTP protocol with our answers to requests that it cannot read.

aiohttp logs each with a traceback and repeats the client's bytes; whoever knocks could fill the log and
have credentials written into it.
"""

import asyncio
import logging
from http import HTTPStatus

from aiohttp import http_exceptions, web

from accelwatch.web.failures import FailureLog
from accelwatch.web.page import plain

logger = logging.getLogger(__name__)

_MAX_LINE = 8190
_MAX_FIELDS = 64
_LINGER_S = 1.0
_NEVER_S = 86400.0
"""Idle connections are ours to close (`connections`), not aiohttp's."""

STANDING_HEADERS = {
    "Server": "accelwatch",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
}


class HttpProtocol(web.RequestHandler):
    """One connection's HTTP."""

    __slots__ = ("_failures",)

    def __init__(
        self, server: web.Server, failures: FailureLog, loop: asyncio.AbstractEventLoop
    ) -> None:
        super().__init__(
            server,
            loop=loop,
            access_log=None,  # type: ignore[arg-type]  # aiohttp takes None: no access log
            logger=logger,
            keepalive_timeout=_NEVER_S,
            max_line_size=_MAX_LINE,
            max_field_size=_MAX_LINE,
            max_headers=_MAX_FIELDS,
            lingering_time=_LINGER_S,
            auto_decompress=False,
        )
        self._failures = failures

    def log_exception(self, *args: object, **kw: object) -> None:
        """What ended a connection: a body that cannot be read is its client's mistake, not ours."""
        error = kw.get("exc_info")
        if isinstance(error, web.RequestPayloadError | http_exceptions.HttpProcessingError):
            logger.debug("a body cannot be read error=%s", type(error).__name__)
        elif isinstance(error, BaseException):
            self._failures.tell("a connection failed", error)
        else:
            logger.debug("a connection failed message=%.100r", args)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - aiohttp's signature; it repeats the client's bytes
    ) -> web.StreamResponse:
        """A short answer that says what kind of mistake it was; the connection is closed after it."""
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            self._failures.tell("a request failed", exc or RuntimeError("no exception"))
        else:
            logger.debug("a request cannot be read error=%s", type(exc).__name__)
        if request.writer.output_size > 0:
            raise ConnectionError("the answer has begun already")
        page = plain(status, HTTPStatus(status).phrase.lower())
        headers = {**STANDING_HEADERS, **page.headers}
        response = web.Response(body=page.body, status=status, headers=headers)
        response.force_close()
        return response
