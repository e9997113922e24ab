"""A server on a thread with a loop of its own."""

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

Where = TypeVar("Where")


class ThreadServer(Generic[Where]):
    """It, while it runs."""

    def __init__(
        self,
        thread: threading.Thread,
        loop: asyncio.AbstractEventLoop,
        stop: asyncio.Event,
        where: Where,
    ) -> None:
        # Its address, or addresses.
        self.where = where
        self._thread = thread
        self._loop = loop
        self._stop = stop

    def call(self, function: Callable[[], object]) -> None:
        """Do something on the server's thread, whose the state is, and wait until it is done."""

        async def called() -> None:
            function()

        asyncio.run_coroutine_threadsafe(called(), self._loop).result()

    def stop(self) -> None:
        """End it, and every connection."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()


def start_on_thread(served: AbstractAsyncContextManager[Where], name: str) -> ThreadServer[Where]:
    """Serve until it is stopped; `name` is the thread's. Raises OSError."""
    started: concurrent.futures.Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, Where]]
    started = concurrent.futures.Future()

    async def serve() -> None:
        stop = asyncio.Event()
        async with served as where:
            started.set_result((asyncio.get_running_loop(), stop, where))
            await stop.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        except OSError as error:
            # Another process has the port.
            started.set_exception(error)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return ThreadServer(thread, *started.result())
