"""The server: on the caller's loop, or on a thread with a loop of its own."""

import contextlib
from collections.abc import AsyncIterator, Callable

from aiohttp import web

from accelwatch_lab.cluster.backendai.api_server.answering import Answers
from accelwatch_lab.cluster.backendai.api_server.internal import Internal
from accelwatch_lab.cluster.backendai.api_server.manager import Manager
from accelwatch_lab.cluster.thread_server import ThreadServer, start_on_thread

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


def serve_on_thread(
    manager: Manager, port: int = 0, internal_port: int = 0
) -> ThreadServer[Addresses]:
    """Serve on a thread until it is stopped. Raises OSError."""
    return start_on_thread(served(manager, port, internal_port), "backendai-manager")
