"""The web server of `accelwatch serve`: textual-serve within bounds, a page without files of others.

A visitor is a dashboard process; how many there are, and how large a screen each draws, is bounded here,
because a screen of any size would be drawn in memory for any visitor.
"""

import asyncio
import contextlib
import logging
import math
import re
from collections.abc import Awaitable, Callable

from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.server import Server, to_int

from accelwatch.base.clock import SystemClock
from accelwatch.web.http.failures import FailureLog
from accelwatch.web.pages.bodies import refusal_of_body

logger = logging.getLogger(__name__)

COLUMNS = (20, 600)
# Least and most cells of a visitor's screen; a 4K monitor in small type shows about 550 by 150.
ROWS = (5, 250)
# Bytes of a browser's message: a key, a size, or what was pasted.
_MAX_MESSAGE = 64 << 10
# How long a visitor's dashboard may take to end.
_END_S = 5.0
_SHUTDOWN_S = 1.0
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; "
    "script-src 'self' 'unsafe-inline' 'unsafe-eval'; img-src 'self' data:; connect-src 'self' ws: wss:",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_LINK = re.compile(r'<link\b[^>]*\bhref="([^"]*)"[^>]*>')
# Keys go to the terminal as soon as it is drawn, and when the window is entered again.
_FOCUS = """<script>
(() => {
  const focus = () => {
    const keys = document.querySelector(".xterm-helper-textarea");
    if (keys) keys.focus();
    return keys;
  };
  const watch = new MutationObserver(() => {
    if (document.body.classList.contains("-first-byte") && focus()) watch.disconnect();
  });
  addEventListener("DOMContentLoaded", () =>
    watch.observe(document.body, {attributes: true, attributeFilter: ["class"]}));
  addEventListener("focus", focus);
})();
</script>
"""
# What a message of another form than the page's own leads to.
_DAMAGED = (AssertionError, AttributeError, LookupError, TypeError, ValueError)


def within(value: object, bounds: tuple[int, int]) -> int:
    """A number of cells that may be drawn. Raises ValueError for what is no number."""
    if not isinstance(value, int | float) or math.isnan(value):
        raise ValueError("a size is a number of cells")
    return int(max(bounds[0], min(value, bounds[1])))


def own_page(html: str, url: str, host: str) -> str:
    """The page without files of other servers, its keys alive from the beginning.

    It loads its parts under the name by which it was opened: `localhost` is another server than
    `127.0.0.1` to a browser.
    """
    kept = _LINK.sub(lambda link: link[0] if link[1].startswith(url) else "", html)
    authority = url.partition("://")[2].partition("/")[0]
    page = kept.replace(f"://{authority}/", f"://{host}/")
    return page.replace("</head>", f"{_FOCUS}</head>", 1)


class Visit(AppService):
    """One visitor's dashboard, on a screen of bounded size."""

    async def start(self, width: int, height: int) -> None:
        """Begin it."""
        await super().start(within(width, COLUMNS), within(height, ROWS))

    async def set_terminal_size(self, width: int, height: int) -> None:
        """Send it the new size."""
        await super().set_terminal_size(within(width, COLUMNS), within(height, ROWS))

    async def stop(self) -> None:
        """End it, if need be by force: it must not count as a visitor for ever."""
        try:
            async with asyncio.timeout(_END_S):
                await super().stop()
        except TimeoutError:
            if self._process is not None:
                with contextlib.suppress(ProcessLookupError):
                    self._process.kill()


class Dashboards(Server):
    """Only pages of this server may open a dashboard on it, and it prints nothing on stdout."""

    def __init__(
        self, command: str, host: str, port: int, *, url: str, authorities: set[str], visitors: int
    ) -> None:
        """`authorities` are the accepted Host values; `visitors` how many dashboards may
        run.
        """
        super().__init__(command, host=host, port=port, title="accelwatch", public_url=url)
        self._authorities = authorities
        self._most = visitors
        self._visits = 0
        self._failures = FailureLog(logger, SystemClock())

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(self._guard)
        return app

    async def on_startup(self, app: web.Application) -> None:
        """Print nothing: the address is printed before."""

    def initialize_logging(self) -> None:
        """Leave logging as it is, but hide malformed requests: they are no fault of ours."""
        logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)

    def serve(self, debug: bool = False) -> None:  # noqa: ARG002 - textual-serve's signature
        """Serve until ^C or SIGTERM. Raises OSError."""
        self.initialize_logging()
        web.run_app(
            self._make_app(),
            host=self.host,
            port=self.port,
            access_log=None,
            shutdown_timeout=_SHUTDOWN_S,
            print=lambda *_: None,
            auto_decompress=False,
        )

    async def handle_index(self, request: web.Request) -> web.Response:
        """The page, or a refusal where there is no room."""
        self._make_sure_of_room()
        response = await super().handle_index(request)
        assert isinstance(response, web.Response)
        response.text = own_page(response.text or "", self.public_url, request.host)
        return response

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """One visit, from the opening of the page to its closing."""
        self._make_sure_of_room()
        self._visits += 1
        try:
            return await self._visit(request)
        finally:
            self._visits -= 1

    def _make_sure_of_room(self) -> None:
        if self._visits >= self._most:
            text = f"there are {self._most} visitors already; --max-visitors lets more in\n"
            raise web.HTTPServiceUnavailable(text=text, headers={"Retry-After": "10"})

    async def _visit(self, request: web.Request) -> web.WebSocketResponse:
        websocket = web.WebSocketResponse(heartbeat=15, max_msg_size=_MAX_MESSAGE)
        await websocket.prepare(request)
        visit = Visit(
            self.command,
            write_bytes=websocket.send_bytes,
            write_str=websocket.send_str,
            close=self._closing(websocket),
            download_manager=self.download_manager,
        )
        try:
            size = (request.query.get("width", ""), request.query.get("height", ""))
            await visit.start(to_int(size[0], 80), to_int(size[1], 24))
            await self._process_messages(websocket, visit)
        except _DAMAGED as error:
            logger.debug("a browser's message cannot be read error=%s", type(error).__name__)
        finally:
            await visit.stop()
            await websocket.close()
        return websocket

    @staticmethod
    def _closing(websocket: web.WebSocketResponse) -> Callable[[], Awaitable[None]]:
        async def close() -> None:
            await websocket.close()

        return close

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Refuse bodies, and requests that another site's page makes in its visitor's name."""
        refusal = refusal_of_body(request.headers, request.content_length)
        if refusal is not None:
            response = web.Response(body=refusal.body, status=refusal.code, headers=refusal.headers)
            response.force_close()
            return response
        origin = request.headers.get("Origin")
        strange = origin is not None and origin.partition("://")[2] not in self._authorities
        if request.headers.get("Host") not in self._authorities or strange:
            raise web.HTTPForbidden(text="this address is not served here\n")
        try:
            answer = await handler(request)
        except (web.HTTPException, ConnectionError):
            raise
        except Exception as error:
            self._failures.log_failure("a page failed", error)
            raise web.HTTPInternalServerError from error
        if not answer.prepared:
            answer.headers.update(_HEADERS)
        return answer
