"""Composition root of the agent: only this module knows collector, store, exporter and server."""

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import msgspec

from accelwatch.agent.black_box_feeder import STEP_S, BlackBoxFeeder
from accelwatch.agent.collection import Collection
from accelwatch.agent.hub_presence import HubPresence
from accelwatch.agent.metrics.own_metrics import OwnMetrics
from accelwatch.agent.metrics.pushing import Pushing
from accelwatch.agent.metrics.scrape import Scrape
from accelwatch.agent.node_health.endpoint import HealthEndpoint
from accelwatch.agent.ruling import Ruling
from accelwatch.agent.server import AgentServer
from accelwatch.agent.settings_check import checked
from accelwatch.agent.using import Using
from accelwatch.archive.blackbox.black_box import BlackBox
from accelwatch.archive.blackbox.files import FOLDER as BLACKBOX
from accelwatch.archive.blackbox.writer import Writer
from accelwatch.base.clock import SystemClock
from accelwatch.base.errors import ConfigError
from accelwatch.config.layers import Effective
from accelwatch.config.model import Settings
from accelwatch.config.reloading import losses
from accelwatch.exposition.selection import Selection
from accelwatch.node.rendering import exporter_of
from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.node.workloads import Workloads, WorkloadSettings
from accelwatch.system.daemon.lifecycle import Lifecycle
from accelwatch.system.daemon.logs import set_up_logging
from accelwatch.system.daemon.memory import give_back
from accelwatch.system.daemon.notify import Notifier, notifier_of
from accelwatch.system.files.file_rights import unsafe_for_state
from accelwatch.system.files.state_folders import state_folders, systemd_state_folder, writable
from accelwatch.web.front import Front, server_limits
from accelwatch.web.pages.changing import may_change
from accelwatch.web.protection.reloading import note_reload, read_again
from accelwatch.web.protection.web_config import Protection

logger = logging.getLogger(__name__)

# After the start everything is loaded and has been used once.
_SETTLED_S = 20.0


def collect_settings(settings: Settings, state_dir: Path | None) -> CollectSettings:
    """The collector's settings; groups that scrapes get are read too."""
    collect = settings.collect
    return CollectSettings(
        backends=collect.backends,
        interval_s=collect.interval_s,
        timeout_s=collect.timeout_s,
        groups=collect.groups | settings.exposition.groups,
        processes=collect.processes,
        argv=collect.argv,
        wake_suspended=collect.wake_suspended,
        expect=collect.expect,
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
        scratch_root=None if workloads.scratch_root is None else Path(workloads.scratch_root),
    )


def default_selection(settings: Settings) -> Selection:
    """The selection for a scrape without parameters."""
    return Selection(
        profile=settings.exposition.profile,
        groups=settings.exposition.groups,
        backends=frozenset(),
        inventory=settings.exposition.inventory,
        openmetrics=False,
    )


def state_folder(settings: Settings, environ: Mapping[str, str]) -> Path | None:
    """Where counters persist: as configured, systemd's folder, the system's, the user's; or nowhere.

    Raises ConfigError for a folder that was given and that others may write to.
    """
    if configured := settings.state_dir or systemd_state_folder(environ):
        if unsafe := unsafe_for_state(Path(configured)):
            raise ConfigError(f"state_dir: {configured}: {unsafe}")
        if writable(Path(configured)):
            return Path(configured)
        logger.warning("state cannot be kept, counters start at zero state_dir=%s", configured)
        return None
    return next((folder for folder in state_folders(environ) if writable(folder)), None)


def black_box(settings: Settings, state_dir: Path | None) -> BlackBox | None:
    """What keeps the last minutes of this machine; None where it is off or nothing can be kept."""
    if not settings.blackbox.enabled or state_dir is None:
        return None
    return BlackBox(lambda: Writer(state_dir / BLACKBOX))


class Agent:
    """One running agent; each call of `read` returns the settings in force."""

    def __init__(self, read: Callable[[], Effective[Settings]], notifier: Notifier) -> None:
        effective = read()
        self.settings, self.config_file = effective.settings, effective.file
        self._clock = SystemClock()
        self._own = OwnMetrics()
        set_up_logging(self.settings.log.level, self.settings.log.format)
        protection = checked(effective)
        self._state = state_folder(self.settings, os.environ)
        self._workloads = Workloads(workload_settings(self.settings), clock=self._clock)
        self._collection = Collection(
            collect_settings(self.settings, self._state), self._clock, self._workloads.annotate
        )
        self._scrape = Scrape(
            self._collection,
            exporter_of("prometheus"),
            self._own,
            self._clock,
            default_selection(self.settings),
        )
        self._black_box_feeder = BlackBoxFeeder(
            black_box(self.settings, self._state), self._collection
        )
        self._using = Using(self._collection, self.settings.usage, self._clock, self._state)
        presence = HubPresence(self._clock)
        self._ruling = Ruling(self._collection, self._clock, self._own, self._state, presence)
        self._pushing = Pushing(self._collection, self._clock, self._own)
        self._health_endpoint = HealthEndpoint(
            self._collection.snapshot, lambda: self._ruling.open_incidents, self._clock
        )
        self._server = AgentServer(
            self._collection,
            self._scrape,
            self._own,
            self._clock,
            document=exporter_of("json"),
            ready=lambda: self._collection.ready,
            workloads=self._workloads.status,
            rules=self._ruling.pages,
            may_change=lambda: may_change(self._server.protection, self._front.web),
            usage=self._using.page,
            presence=presence,
            limits=server_limits(self.settings.web),
            protection=protection,
        )
        self._front = Front(
            self._server, self.settings.web, partial(note_reload, self._own.reloads, "web")
        )
        self.life = Lifecycle(
            notifier,
            "serving",
            alive=lambda: self._collection.alive and self._ruling.alive and self._pushing.alive,
            read_again=lambda: read_again(self, read, checked),
        )
        self._pace()

    @property
    def protection(self) -> Protection:
        """That in force."""
        return self._server.protection

    async def run(self) -> None:
        """Serve until stopped. Raises AccelwatchError when an address cannot be listened on."""
        self._front.start(self._front.open_sockets())
        self._collection.start()
        self._black_box_feeder.start()
        self._using.start()
        self._workloads.start()
        try:
            await self._ruling.change(self.settings)
            await self._pushing.change(self.settings.otlp)
            await self._health_endpoint.change(self.settings.node_health)
            self._own.reloads["agent"] = True
            asyncio.get_running_loop().call_later(_SETTLED_S, give_back)
            await self.life.run(self._collection.failed)
        finally:
            await self._health_endpoint.stop()
            await self._black_box_feeder.stop()
            await self._using.stop()
            await self._pushing.stop()
            await self._ruling.stop()
            await asyncio.gather(
                self._front.stop(),
                self._collection.stop(),
                asyncio.to_thread(self._workloads.stop),
            )

    def report_reload(self, error: str) -> None:
        """Show whether the configuration was read well; `error` says why not, empty when it was."""
        self._own.reloads["agent"] = not error
        self._ruling.refuse(error)

    async def change(self, settings: Settings, protection: Protection) -> None:
        """Other settings from now on, but for those that only a restart changes; these are logged.

        Raises AccelwatchError.
        """
        settings = self._without_restart_only(settings)
        await self._ruling.change(settings)
        await self._pushing.change(settings.otlp)
        await self._health_endpoint.change(settings.node_health)
        for loss in losses(self.settings, settings):
            logger.warning("%s", loss)
        self.settings = settings
        self._using.settings = settings.usage
        set_up_logging(settings.log.level, settings.log.format)
        self._front.change(settings.web, protection)
        self._scrape.default_selection = default_selection(settings)
        collect = collect_settings(settings, self._state)
        if collect != self._collection.settings:
            await self._collection.replace(collect)
        self._pace()

    def _without_restart_only(self, settings: Settings) -> Settings:
        """The new settings with the old ones where only a restart can change them."""
        before = self.settings
        for name in ("state_dir", "workloads", "blackbox"):
            if getattr(settings, name) != getattr(before, name):
                logger.warning("a change takes a restart key=%s", name)
        return msgspec.structs.replace(
            settings,
            state_dir=before.state_dir,
            workloads=before.workloads,
            blackbox=before.blackbox,
        )

    def _pace(self) -> None:
        self._black_box_feeder.step_s = max(STEP_S, self.settings.collect.interval_s)
        self._server.pulse.interval_s = self._scrape.max_age_s = self.settings.collect.interval_s


async def serve_agent(read: Callable[[], Effective[Settings]]) -> None:
    """Run an agent until SIGTERM or SIGINT; SIGHUP reads the configuration again."""
    agent = Agent(read, notifier_of(os.environ, os.getpid()))
    agent.life.handle_signals()
    with contextlib.suppress(asyncio.CancelledError):
        await agent.run()
