"""The server: on the caller's loop, or on a thread with a loop of its own."""

import contextlib
import ssl
from collections.abc import AsyncIterator, Sequence

from aiohttp import web

from accelwatch_lab.cluster.kubernetes.api_server.answering import Answers
from accelwatch_lab.cluster.kubernetes.api_server.call import MOST_BYTES
from accelwatch_lab.cluster.kubernetes.api_server.cluster import Cluster
from accelwatch_lab.cluster.kubernetes.api_server.connections import end_connections
from accelwatch_lab.cluster.kubernetes.api_server.controllers.running import (
    ControllerName,
    controllers_of,
    running,
)
from accelwatch_lab.cluster.thread_server import ThreadServer, start_on_thread

_HOST = "127.0.0.1"
# Requests that still go on when the server stops: watches, and those that a fault lets hang.
_SHUTDOWN_S = 0.1


@contextlib.asynccontextmanager
async def served(
    cluster: Cluster,
    port: int = 0,
    tls: ssl.SSLContext | None = None,
    controllers: Sequence[ControllerName] = (),
) -> AsyncIterator[str]:
    """Serve on the running loop; the URL. Port 0: any that is free. Raises OSError."""
    application = web.Application(client_max_size=MOST_BYTES)
    application.router.add_route("*", "/{path:.*}", Answers(cluster).handle)
    runner = web.AppRunner(application, shutdown_timeout=_SHUTDOWN_S, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, _HOST, port, ssl_context=tls)
    try:
        await site.start()
        async with running(cluster, controllers_of(cluster, controllers)):
            yield f"{'https' if tls else 'http'}://{_HOST}:{runner.addresses[0][1]}"
    finally:
        cluster.store.drop_watches()
        if site in runner.sites:
            await site.stop()
        if runner.server is not None:
            await end_connections(runner.server)
        await runner.cleanup()


def serve_on_thread(
    cluster: Cluster,
    port: int = 0,
    tls: ssl.SSLContext | None = None,
    controllers: Sequence[ControllerName] = (),
) -> ThreadServer[str]:
    """Serve on a thread until it is stopped. Raises OSError."""
    return start_on_thread(served(cluster, port, tls, controllers), "api-server")
