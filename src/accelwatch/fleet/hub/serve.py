"""Composition of the hub: settings, state folder, server, exposition; runs until told to stop."""

import asyncio
import contextlib
import logging
import os
import resource
import signal
import socket
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from accelwatch.agent.connections import Limits
from accelwatch.agent.exposure import protection_of
from accelwatch.agent.http_server import HttpServer, ServerLimits
from accelwatch.agent.listeners import exposed, open_tcp, open_unix
from accelwatch.agent.logs import set_up_logging
from accelwatch.agent.notify import notifier_of
from accelwatch.agent.watch import Watch
from accelwatch.agent.web_config import Protection
from accelwatch.clock import Clock, SystemClock
from accelwatch.config.model import Web
from accelwatch.errors import AccelwatchError
from accelwatch.fleet.api.live import LiveStreams
from accelwatch.fleet.api.own import RenderOwn
from accelwatch.fleet.api.pages import HubPages
from accelwatch.fleet.hub.collecting import tend
from accelwatch.fleet.hub.hub import Hub, MakeForeignReader
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.schema.metrics import Series, catalogue
from accelwatch.schema.reading import Number

logger = logging.getLogger(__name__)

_GRACE_S = 0.8
_THREADS = 32
"""For name look-ups, each of which may hang for long: the default is few on a small machine."""


def own_text() -> RenderOwn:
    """Our own series as the Prometheus exporter writes them."""
    from accelwatch_prometheus.text import LinePrefixes, header

    prefixes = LinePrefixes()

    def render(series: Mapping[Series, Number], openmetrics: bool) -> str:
        lines: dict[str, list[str]] = {}
        rows = {row.key: row for row in catalogue()}
        for one, number in series.items():
            prefix = prefixes.known.get(("", one)) or prefixes.make(rows[one[0]], "", one)
            lines.setdefault(one[0], []).append(f"{prefix}{number!r}\n")
        parts = []
        for key, row in rows.items():
            if key in lines:
                parts += [header(row, openmetrics), *lines[key]]
        return "".join([*parts, "# EOF\n"] if openmetrics else parts)

    return render


class HubServer:
    """A hub and the server over it."""

    def __init__(
        self,
        hub: Hub,
        clock: Clock,
        protection: Protection,
        *,
        web: Web,
        interval_s: float,
    ) -> None:
        self.hub = hub
        self._web = web
        self._watch: Watch | None = None
        pages = HubPages(hub.fleet, own_text(), ready=lambda: hub.ready, may_act=self._may_act)
        streams = LiveStreams(hub.fleet, clock, pages.sums, pages.labels, interval_s)
        self.http = HttpServer(pages, streams, clock, limits=limits_of(web), protection=protection)

    def _may_act(self) -> bool:
        """Who can reach the hub may change something if asked who he is, or on this machine."""
        return self.http.protection.authenticates or not exposed(self._web.listen_address)

    async def start(self) -> None:
        """Listen and follow. Raises AccelwatchError."""
        sockets = open_sockets(self._web)
        await self.hub.start()
        self.http.start(sockets)
        if self._web.config_file:
            self._watch_web(Path(self._web.config_file))

    def _watch_web(self, path: Path) -> None:
        def apply(found: Protection) -> None:
            from accelwatch.agent.exposure import check_exposure

            check_exposure(self._web, found)
            self.http.protection = found

        self._watch = Watch(path, self.http.protection, apply=apply, outcome=lambda _well: None)
        self._watch.start()

    async def stop(self) -> None:
        """End in good order."""
        if self._watch is not None:
            self._watch.stop()
        await self.http.stop(_GRACE_S)
        await self.hub.stop()
        if self._web.unix_socket:
            Path(self._web.unix_socket).unlink(missing_ok=True)


def limits_of(web: Web) -> ServerLimits:
    """Bounds of the server."""
    return ServerLimits(
        requests=web.max_requests,
        streams=web.stream_max_clients,
        stall_s=web.stream_stall_timeout_s,
        connections=Limits(
            connections=web.max_connections,
            header_timeout_s=web.header_timeout_s,
            request_timeout_s=web.request_timeout_s,
            keepalive_timeout_s=web.keepalive_timeout_s,
        ),
    )


def open_sockets(web: Web) -> list[socket.socket]:
    """Listening sockets. Raises AccelwatchError."""
    opened: list[socket.socket] = []
    try:
        for address in web.listen_address:
            opened += open_tcp(address)
        if web.unix_socket:
            opened.append(open_unix(Path(web.unix_socket)))
    except BaseException:
        for one in opened:
            one.close()
        raise
    for one in opened:
        logger.info("listening address=%s", one.getsockname())
    return opened


def state_folder(settings: HubSettings, environ: Mapping[str, str]) -> Path | None:
    """Where the inventory is kept: as configured, systemd's folder, the user's; or nowhere."""
    home = environ.get("XDG_STATE_HOME") or (
        f"{environ['HOME']}/.local/state" if environ.get("HOME") else ""
    )
    given = settings.state_dir or environ.get("STATE_DIRECTORY", "").partition(":")[0]
    place = given or (f"{home}/accelwatch" if home else "")
    if not place:
        return None
    try:
        Path(place).mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        text = f"{place}: cannot keep the inventory: {error.strerror}"
        if given:
            raise AccelwatchError(text) from error
        logger.warning("%s", text)
        return None
    return Path(place)


def raise_open_files() -> None:
    """Let the process hold as many connections as the system allows it; a stream is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def serve_hub(
    read: Callable[[], HubSettings],
    make_reader: MakeForeignReader | None,
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Run a hub until SIGTERM or SIGINT. Raises AccelwatchError."""
    raise_open_files()
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(_THREADS, thread_name_prefix="hub"))
    settings, clock = read(), SystemClock()
    set_up_logging(settings.log.level, settings.log.format)
    protection = protection_of(settings.web)
    notifier = notifier_of(os.environ, os.getpid())
    hub = Hub(settings, clock, make_reader, state_folder(settings, os.environ))
    server = HubServer(
        hub, clock, protection, web=settings.web, interval_s=settings.stream_interval_s
    )
    stop = asyncio.Event()
    for one in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(one, stop.set)
    await server.start()
    tending = loop.create_task(tend(), name="garbage")
    try:
        notifier.ready("following")
        ready()
        while not stop.is_set():
            if hub.alive:
                notifier.alive()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), (notifier.watchdog_s or 30.0) / 3)
    finally:
        tending.cancel()
        notifier.stopping()
        await server.stop()
