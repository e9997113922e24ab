"""`accelwatch serve`: the same dashboard in a browser, on this machine unless told otherwise.

Every visitor gets a dashboard process of their own that can only look: whoever can reach the port would
otherwise send signals as the user who serves.
"""

import ipaddress
import shlex
import sys
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import typer

from accelwatch.cli.output import complain
from accelwatch.errors import AccelwatchError, UsageError
from accelwatch.exit_codes import OK

DEFAULT_PORT = 9879
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; "
    "script-src 'self' 'unsafe-inline' 'unsafe-eval'; img-src 'self' data:; connect-src 'self' ws: wss:",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def serve_command(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = DEFAULT_PORT,
    public_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where browsers reach it, behind a proxy.")
    ] = None,
    listen_any: Annotated[
        bool, typer.Option("--listen-any", help="Allow an address that other machines can reach.")
    ] = False,
    replay: Annotated[
        str | None, typer.Option(metavar="FILE", help="Show a recording instead of this machine.")
    ] = None,
    condition: Annotated[
        str | None, typer.Option("--filter", metavar="EXPRESSION", help="Show only these devices.")
    ] = None,
) -> None:
    """Serve the dashboard to browsers; it can only look, and there is no password."""
    if not listen_any and not _is_loopback(host):
        raise UsageError(
            f"{host} can be reached from other machines and there is no password; "
            "put a proxy that asks for one before 127.0.0.1, or say --listen-any"
        )
    server = _server(dashboard_words(replay, condition), host, port, public_url)
    complain(f"the dashboard is at {server.public_url} (^C ends it)")
    try:
        server.serve()
    except OSError as error:
        raise AccelwatchError(f"cannot listen on {host}:{port}: {error.strerror}") from error
    raise typer.Exit(OK)


def dashboard_words(replay: str | None, condition: str | None) -> list[str]:
    """The command line of one visitor's dashboard."""
    words = [sys.executable, "-m", "accelwatch", "dashboard", "--readonly"]
    if replay is not None:
        words += ["--replay", replay]
    if condition is not None:
        words += ["--filter", condition]
    return words


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _server(words: list[str], host: str, port: int, public_url: str | None) -> Any:
    try:
        from aiohttp import web
        from textual_serve.server import Server
    except ImportError as error:
        raise UsageError("serving needs the extra: pip install 'accelwatch[serve]'") from error

    shown = f"[{host}]" if ":" in host else host
    url = (public_url or f"http://{shown}:{port}").rstrip("/")

    class Dashboards(Server):
        """Only pages of this server may open a dashboard on it, and it prints nothing on stdout."""

        async def _make_app(self) -> web.Application:
            app: web.Application = await super()._make_app()
            app.middlewares.append(_guard(url))
            return app

        async def on_startup(self, app: web.Application) -> None:
            """Say nothing: the address is told before."""

        def initialize_logging(self) -> None:
            """Leave logging as it is."""

    return Dashboards(shlex.join(words), host=host, port=port, title="accelwatch", public_url=url)


def _guard(url: str) -> Any:
    """Refuses what another site's page asks of this server in its visitor's name."""
    from aiohttp import web

    authority = url.partition("://")[2].partition("/")[0]
    known = {authority}
    name, _, port = authority.rpartition(":")
    if _is_loopback(name.strip("[]")):
        known |= {f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"}

    @web.middleware
    async def guard(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        origin = request.headers.get("Origin")
        strange = origin is not None and origin.partition("://")[2] not in known
        if request.headers.get("Host") not in known or strange:
            raise web.HTTPForbidden(text="this address is not served here\n")
        response = await handler(request)
        if not response.prepared:
            response.headers.update(_HEADERS)
        return response

    return guard
