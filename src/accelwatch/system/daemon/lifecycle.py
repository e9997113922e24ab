"""A process that serves until it is stopped: signals, systemd, reading the configuration again."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import Any

from accelwatch.system.daemon.notify import Notifier

_IDLE_S = 3600.0


class Lifecycle:
    """SIGTERM and SIGINT end it, SIGHUP has the configuration read again."""

    def __init__(
        self,
        notifier: Notifier,
        status: str,
        *,
        alive: Callable[[], bool],
        read_again: Callable[[], Awaitable[None]],
    ) -> None:
        """`status` is what systemd shows; its watchdog is fed while `alive()`."""
        self._notifier = notifier
        self._status = status
        self._alive = alive
        self._read_again = read_again
        self._stop = asyncio.Event()
        self._reload = asyncio.Event()

    def handle_signals(self) -> None:
        """Install the signal handlers of this process."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._reload.set)

    async def run(self, *failing: asyncio.Future[Any]) -> None:
        """Return on a stop signal, after notifying systemd. Raises what one of `failing` ends with."""
        self._notifier.ready(self._status)
        feeding = asyncio.ensure_future(self._feed_watchdog())
        stop = asyncio.ensure_future(self._stop.wait())
        watched = (feeding, *failing)
        try:
            while not self._stop.is_set():
                reload = asyncio.ensure_future(self._reload.wait())
                await asyncio.wait({stop, reload, *watched}, return_when=asyncio.FIRST_COMPLETED)
                reload.cancel()
                for broken in watched:
                    if broken.done():
                        broken.result()
                if self._reload.is_set():
                    self._reload.clear()
                    self._notifier.reloading()
                    await self._read_again()
                    self._notifier.ready(self._status)
        finally:
            stop.cancel()
            feeding.cancel()
            self._notifier.stopping()

    async def _feed_watchdog(self) -> None:
        while True:
            if self._notifier.watchdog_s is not None and self._alive():
                self._notifier.alive()
            await asyncio.sleep((self._notifier.watchdog_s or _IDLE_S) / 3)
