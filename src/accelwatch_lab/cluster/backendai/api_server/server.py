"""The server: on a loop that somebody runs, or on a thread with a loop of its own."""

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import AsyncIterator, Callable

from aiohttp import web

from accelwatch_lab.cluster.backendai.api_server.answering import Answers
from accelwatch_lab.cluster.backendai.api_server.internal import Internal
from accelwatch_lab.cluster.backendai.api_server.manager import Manager

_HOST = "127.0.0.1"
# Requests that a fault lets hang still go on when the server stops.
_SHUTDOWN_S = 0.1


class Addresses:
    """Where it is served."""

    def __init__(self, url: str, internal_url: str) -> None:
        self.url = url
        # Of metrics and targets.
        self.internal_url = internal_url


@contextlib.asynccontextmanager
async def served(
    manager: Manager, port: int = 0, internal_port: int = 0
) -> AsyncIterator[Addresses]:
    """Serve on the running loop. Port 0: any that is free. Raises OSError."""
    async with contextlib.AsyncExitStack() as stack:
        url = await stack.enter_async_context(_site(Answers(manager).handle, port))
        internal = Internal(manager)
        internal_url = await stack.enter_async_context(_site(internal.handle, internal_port))
        internal.address = internal_url.removeprefix("http://")
        yield Addresses(url, internal_url)


@contextlib.asynccontextmanager
async def _site(handle: Callable[[web.Request], object], port: int) -> AsyncIterator[str]:
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handle)  # type: ignore[arg-type]
    runner = web.AppRunner(application, shutdown_timeout=_SHUTDOWN_S, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, _HOST, port).start()
        yield f"http://{_HOST}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


class Serving:
    """A server that runs on a thread."""

    def __init__(
        self,
        thread: threading.Thread,
        loop: asyncio.AbstractEventLoop,
        stop: asyncio.Event,
        addresses: Addresses,
    ) -> None:
        self.addresses = addresses
        self._thread = thread
        self._loop = loop
        self._stop = stop

    def call(self, function: Callable[[], object]) -> None:
        """Do something on the server's thread, whose the state is, and wait until it is done."""

        async def done() -> None:
            function()

        asyncio.run_coroutine_threadsafe(done(), self._loop).result()

    def stop(self) -> None:
        """End it, and every connection."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()


def serve_on_thread(manager: Manager, port: int = 0, internal_port: int = 0) -> Serving:
    """Serve on a thread until it is stopped. Raises OSError."""
    started: concurrent.futures.Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, Addresses]]
    started = concurrent.futures.Future()

    async def serve() -> None:
        stop = asyncio.Event()
        async with served(manager, port, internal_port) as addresses:
            started.set_result((asyncio.get_running_loop(), stop, addresses))
            await stop.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        except OSError as error:
            # The port is somebody else's.
            started.set_exception(error)

    thread = threading.Thread(target=run, name="backendai-manager", daemon=True)
    thread.start()
    return Serving(thread, *started.result())
