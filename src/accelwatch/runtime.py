"""Composition root of the agent: the one place that knows collector, store, exporter and server."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from accelwatch.agent.collection import Collection
from accelwatch.agent.connections import Limits
from accelwatch.agent.exposure import check_exposure, checked
from accelwatch.agent.feed import Exposition, Histograms, Own
from accelwatch.agent.listeners import open_tcp, open_unix
from accelwatch.agent.logs import set_up_logging
from accelwatch.agent.notify import Notifier, notifier_of
from accelwatch.agent.own_metrics import OwnMetrics
from accelwatch.agent.scrape import Scrape, Wish
from accelwatch.agent.server import AgentServer, ServerLimits
from accelwatch.agent.watch import Watch
from accelwatch.agent.web_config import Protection
from accelwatch.clock import SystemClock
from accelwatch.config.layers import Effective
from accelwatch.config.model import Settings, Web
from accelwatch.errors import ConfigError
from accelwatch.exporter import Exporter
from accelwatch.sampler.settings import CollectSettings
from accelwatch.schema.snapshot import Snapshot
from accelwatch.workloads import Workloads, WorkloadSettings

logger = logging.getLogger(__name__)

_GRACE_S = 0.8
_SYSTEM_STATE = Path("/var/lib/accelwatch")
_RESTART_ONLY = ("listen_address", "unix_socket")


def prometheus_text() -> Exposition:
    """The Prometheus exporter's renderer as the server wants it, with a line cache of its own."""
    from accelwatch_prometheus.render import Renderer
    from accelwatch_prometheus.selection import selection

    renderer = Renderer()

    def render(
        snapshot: Snapshot,
        *,
        profile: str,
        groups: Iterable[str],
        backends: Iterable[str],
        inventory: bool,
        openmetrics: bool,
        own: Own,
        own_histograms: Histograms,
    ) -> str:
        chosen = selection(
            profile=profile,
            groups=groups,
            backends=backends,
            inventory=inventory,
            openmetrics=openmetrics,
        )
        return renderer.render(snapshot, chosen, own=own, own_histograms=own_histograms)

    return render


def json_document() -> Exporter:
    """The JSON exporter."""
    from accelwatch_json import JsonExporter

    return JsonExporter()


def collect_settings(settings: Settings, state_dir: Path | None) -> CollectSettings:
    """What the collector is told; groups that scrapes get are read too."""
    collect = settings.collect
    return CollectSettings(
        backends=collect.backends,
        interval_s=collect.interval_s,
        timeout_s=collect.timeout_s,
        groups=collect.groups | settings.exposition.groups,
        processes=collect.processes,
        argv=collect.argv,
        wake_suspended=collect.wake_suspended,
        root=collect.root,
        state_dir=None if state_dir is None else str(state_dir),
        excluded=collect.exclude,
        options=collect.options,
    )


def workload_settings(settings: Settings) -> WorkloadSettings:
    """Where it is looked up whose a device is."""
    workloads = settings.workloads
    return WorkloadSettings(
        sources=frozenset(map(str, workloads.sources)),
        root=Path(settings.collect.root),
        kubelet_socket=Path(workloads.kubelet_socket),
        pod_logs=Path(workloads.pod_logs),
        job_dirs=tuple(map(Path, workloads.job_dirs)),
        gpu_order=workloads.gpu_order,
    )


def server_limits(web: Web) -> ServerLimits:
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


def standing_wish(settings: Settings) -> Wish:
    """What a scrape gets that asks for nothing in particular."""
    return Wish(
        profile=settings.exposition.profile,
        groups=settings.exposition.groups,
        backends=frozenset(),
        inventory=settings.exposition.inventory,
        openmetrics=False,
    )


def state_folder(settings: Settings, environ: Mapping[str, str]) -> Path | None:
    """Where counters persist: as configured, systemd's folder, the system's, the user's; or nowhere."""
    if given := settings.state_dir or environ.get("STATE_DIRECTORY", "").partition(":")[0]:
        if _writable(Path(given)):
            return Path(given)
        logger.warning("state cannot be kept, counters begin anew state_dir=%s", given)
        return None
    home = environ.get("XDG_STATE_HOME") or (
        f"{environ['HOME']}/.local/state" if environ.get("HOME") else ""
    )
    places = [_SYSTEM_STATE, *([Path(home) / "accelwatch"] if home else [])]
    return next((place for place in places if _writable(place)), None)


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


class Agent:
    """One running agent; `read` gives the settings in force whenever they are asked for."""

    def __init__(self, read: Callable[[], Effective], notifier: Notifier) -> None:
        self._read = read
        self._notifier = notifier
        self._stop = asyncio.Event()
        self._reload = asyncio.Event()
        self._settings = read().settings
        self._clock = SystemClock()
        self._own = OwnMetrics()
        self._watch: Watch | None = None
        set_up_logging(self._settings.log.level, self._settings.log.format)
        self._state = state_folder(self._settings, os.environ)
        protection = checked(self._settings)
        self._workloads = Workloads(workload_settings(self._settings), clock=self._clock)
        self._collection = Collection(
            collect_settings(self._settings, self._state), self._clock, self._workloads.annotate
        )
        self._scrape = Scrape(
            self._collection,
            prometheus_text(),
            self._own,
            self._clock,
            standing_wish(self._settings),
        )
        self._server = AgentServer(
            self._collection,
            self._scrape,
            self._own,
            self._clock,
            document=json_document(),
            ready=lambda: self._collection.ready,
            workloads=self._workloads.status,
            limits=server_limits(self._settings.web),
            protection=protection,
        )
        self._pace()

    def stop(self) -> None:
        """End `run`."""
        self._stop.set()

    def reload(self) -> None:
        """Have the configuration read again."""
        self._reload.set()

    async def run(self) -> None:
        """Serve until stopped. Raises AccelwatchError when an address cannot be listened on."""
        self._server.start(self._sockets())
        self._collection.start()
        self._workloads.start()
        self._own.reloads["agent"] = True
        self._watch_web(self._server.protection)
        self._notifier.ready("serving")
        try:
            await self._until_stopped()
        finally:
            self._notifier.stopping()
            if self._watch is not None:
                self._watch.stop()
            await asyncio.gather(
                self._server.stop(_GRACE_S),
                self._collection.stop(),
                asyncio.to_thread(self._workloads.stop),
            )
            if self._settings.web.unix_socket:
                Path(self._settings.web.unix_socket).unlink(missing_ok=True)

    async def _until_stopped(self) -> None:
        feeding = asyncio.ensure_future(self._feed_watchdog())
        stop = asyncio.ensure_future(self._stop.wait())
        try:
            while not self._stop.is_set():
                reload = asyncio.ensure_future(self._reload.wait())
                waiting: set[asyncio.Future[Any]] = {stop, reload, feeding, self._collection.failed}
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                reload.cancel()
                for broken in (feeding, self._collection.failed):
                    if broken.done():
                        broken.result()
                if self._reload.is_set():
                    self._reload.clear()
                    await self._read_again()
        finally:
            stop.cancel()
            feeding.cancel()

    async def _feed_watchdog(self) -> None:
        while True:
            if self._notifier.watchdog_s is None:
                await asyncio.Event().wait()
            else:
                if self._collection.alive:
                    self._notifier.alive()
                await asyncio.sleep(self._notifier.watchdog_s / 3)

    def _sockets(self) -> list[socket.socket]:
        web = self._settings.web
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
            logger.info("listening address=%s", _told(one))
        return opened

    async def _read_again(self) -> None:
        self._notifier.reloading()
        try:
            settings = self._read().settings
            protection = checked(settings)
        except ConfigError as error:
            logger.error("configuration refused, the one before stays in force: %s", error)
            self._own.reloads["agent"] = False
        else:
            await self._change(settings, protection)
            self._own.reloads["agent"] = True
            logger.info("configuration read again")
        self._notifier.ready("serving")

    async def _change(self, settings: Settings, protection: Protection) -> None:
        settings = self._without_restart_only(settings)
        self._settings = settings
        set_up_logging(settings.log.level, settings.log.format)
        self._server.set_limits(server_limits(settings.web))
        self._scrape.standing = standing_wish(settings)
        self._server.protection = protection
        self._watch_web(protection)
        collect = collect_settings(settings, self._state)
        if collect != self._collection.settings:
            await self._collection.replace(collect)
        self._pace()

    def _without_restart_only(self, settings: Settings) -> Settings:
        """The new settings with the old ones where only a restart can change them."""
        before, web = self._settings, settings.web
        for name in _RESTART_ONLY:
            if getattr(web, name) != getattr(before.web, name):
                logger.warning("a change takes a restart key=web.%s", name)
                web = msgspec.structs.replace(web, **{name: getattr(before.web, name)})
        for name in ("state_dir", "workloads"):
            if getattr(settings, name) != getattr(before, name):
                logger.warning("a change takes a restart key=%s", name)
        return msgspec.structs.replace(
            settings, web=web, state_dir=before.state_dir, workloads=before.workloads
        )

    def _pace(self) -> None:
        self._server.pulse.interval_s = self._scrape.max_age_s = self._settings.collect.interval_s

    def _watch_web(self, protection: Protection) -> None:
        if self._watch is not None:
            self._watch.stop()
            self._watch = None
        web = self._settings.web
        if not web.config_file:
            self._own.reloads.pop("web", None)
            return

        def apply(found: Protection) -> None:
            check_exposure(self._settings.web, found)
            self._server.protection = found

        def outcome(well: bool) -> None:
            self._own.reloads["web"] = well

        outcome(True)
        self._watch = Watch(Path(web.config_file), protection, apply=apply, outcome=outcome)
        self._watch.start()


def _told(one: socket.socket) -> str:
    name = one.getsockname()
    if isinstance(name, tuple):
        return f"[{name[0]}]:{name[1]}" if ":" in name[0] else f"{name[0]}:{name[1]}"
    return str(name)


async def serve_agent(read: Callable[[], Effective]) -> None:
    """Run an agent until SIGTERM or SIGINT; SIGHUP reads the configuration again."""
    loop = asyncio.get_running_loop()
    agent = Agent(read, notifier_of(os.environ, os.getpid()))
    loop.add_signal_handler(signal.SIGTERM, agent.stop)
    loop.add_signal_handler(signal.SIGINT, agent.stop)
    loop.add_signal_handler(signal.SIGHUP, agent.reload)
    with contextlib.suppress(asyncio.CancelledError):
        await agent.run()
