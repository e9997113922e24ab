"""The server: on a loop that somebody runs, or on a thread with a loop of its own."""

import asyncio
import concurrent.futures
import contextlib
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Sequence

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


class Serving:
    """A server that runs on a thread."""

    def __init__(
        self,
        thread: threading.Thread,
        loop: asyncio.AbstractEventLoop,
        stop: asyncio.Event,
        url: str,
    ) -> None:
        self.url = url
        self._thread = thread
        self._loop = loop
        self._stop = stop

    def call(self, function: Callable[[], None]) -> None:
        """Do something on the server's thread, whose the objects are, and wait until it is done."""

        async def done() -> None:
            function()

        asyncio.run_coroutine_threadsafe(done(), self._loop).result()

    def stop(self) -> None:
        """End it, and every connection."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()


def serve_on_thread(
    cluster: Cluster,
    port: int = 0,
    tls: ssl.SSLContext | None = None,
    controllers: Sequence[ControllerName] = (),
) -> Serving:
    """Serve on a thread until it is stopped. Raises OSError."""
    started: concurrent.futures.Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, str]]
    started = concurrent.futures.Future()

    async def serve() -> None:
        stop = asyncio.Event()
        async with served(cluster, port, tls, controllers) as url:
            started.set_result((asyncio.get_running_loop(), stop, url))
            await stop.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        except OSError as error:
            # The port is somebody else's.
            started.set_exception(error)

    thread = threading.Thread(target=run, name="api-server", daemon=True)
    thread.start()
    return Serving(thread, *started.result())
