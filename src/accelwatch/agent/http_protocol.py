"""aiohttp's HTTP protocol with our answers to requests that it cannot read.

aiohttp logs each with a traceback and repeats the client's bytes; whoever knocks could fill the log and
have credentials written into it.
"""

import logging
from http import HTTPStatus

from aiohttp import web

from accelwatch.agent.page import plain

logger = logging.getLogger(__name__)

STANDING_HEADERS = {
    "Server": "accelwatch",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
}


class HttpProtocol(web.RequestHandler):
    """One connection's HTTP."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - aiohttp's signature; it repeats the client's bytes
    ) -> web.StreamResponse:
        """A short answer that says what kind of mistake it was; the connection is closed after it."""
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            logger.error("a request failed", exc_info=exc)
        else:
            logger.debug("a request cannot be read error=%s", type(exc).__name__)
        if request.writer.output_size > 0:
            raise ConnectionError("the answer has begun already")
        page = plain(status, HTTPStatus(status).phrase.lower())
        headers = {**STANDING_HEADERS, **page.headers}
        response = web.Response(body=page.body, status=status, headers=headers)
        response.force_close()
        return response
