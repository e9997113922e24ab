"""A hub of the dashboard's own, inside its child process: on a Unix socket, for the parent only."""

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from glob import has_magic
from pathlib import Path

import msgspec
from msgspec.structs import replace

from accelwatch.base.clock import SystemClock
from accelwatch.base.errors import UsageError
from accelwatch.config.alerts import Alerts
from accelwatch.config.model import Web
from accelwatch.fleet.archive.settings import History
from accelwatch.fleet.hub.collecting import all_is_kept, spare_the_old, tend
from accelwatch.fleet.hub.foreign import foreign_reader
from accelwatch.fleet.hub.hub import Hub
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.hub.server import HubServer
from accelwatch.fleet.hub_client.local_hub.child import Outcome
from accelwatch.fleet.hub_client.local_hub.inventory_folder import (
    InventoryFolder,
    acquire_folder,
    fleet_folder,
)
from accelwatch.fleet.hub_client.local_hub.lifetime import Lifetime
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.targets.files import read_targets
from accelwatch.fleet.targets.settings import Targets
from accelwatch.fleet.tsdb.settings import Federation, RemoteWrite
from accelwatch.system.daemon.memory import give_back
from accelwatch.system.daemon.open_files import raise_open_files
from accelwatch.web.protection.web_config import Protection

_THREADS = 16
# How long the hub waits for its nodes before it answers the parent.
_HEAD_START_S = 0.5
# How often it checks whether the last target was tried.
_POLL_S = 0.01

ReadSettings = Callable[[], HubSettings]


class Embedding(msgspec.Struct, frozen=True, kw_only=True):
    """How an embedded hub differs from one that runs by itself."""

    # Whether the inventory outlives the process.
    keep: bool = True
    # Where, instead of a folder of these targets' own.
    state_dir: str | None = None
    # Whether nobody will acknowledge anything, so that a copy of the inventory is as good.
    printed: bool = False


def run_embedded(
    read: ReadSettings,
    embedding: Embedding,
    folder: Path,
    life: Lifetime,
) -> None:
    """Be a hub until the parent ends. Raises AccelwatchError for what prevents the beginning."""
    spare_the_old()
    settings = checked_targets(read())
    kept = _inventory_folder(settings, embedding, folder)
    asyncio.run(serve(settings, kept, folder, life))


def checked_targets(settings: HubSettings) -> HubSettings:
    """The settings, if they name targets that can be read. Raises AccelwatchError.

    A hub that runs by itself waits for a file that is not there yet; a person needs an error.
    """
    targets = settings.targets
    defaults = Targets()
    plain = replace(targets, labels=defaults.labels, refresh_s=defaults.refresh_s)
    if plain == defaults and not settings.prometheus.url:
        raise UsageError("no targets: name some with --targets or --targets-file, or in the file")
    if targets.hubs:
        raise UsageError("targets.hubs is for accelwatch hub; to show several hubs, write --hub")
    for name in targets.files:
        if not has_magic(name):
            read_targets(Path(name))
    return settings


def _inventory_folder(settings: HubSettings, embedding: Embedding, spare: Path) -> InventoryFolder:
    if not embedding.keep:
        return InventoryFolder(folder=None)
    configured = embedding.state_dir is not None
    own = fleet_folder(settings, os.environ)
    folder = Path(embedding.state_dir) if embedding.state_dir is not None else own
    kept = acquire_folder(folder, spare, configured=configured)
    return replace(kept, remark="") if embedding.printed and kept.folder == spare else kept


async def serve(
    settings: HubSettings,
    kept: InventoryFolder,
    folder: Path,
    life: Lifetime,
) -> None:
    """Follow and answer until the parent ends, after reporting that all is ready."""
    prepare()
    web = Web(
        listen_address=(),
        unix_socket=str(folder / "hub.socket"),
        stream_max_clients=settings.web.stream_max_clients,
    )
    settings = for_single_user(replace(settings, web=web))
    clock = SystemClock()
    hub = Hub(settings, clock, foreign_reader, kept.folder)
    server = HubServer(hub, clock, Protection(), web=web, interval_s=settings.stream_interval_s)
    stop = life.stop_event()

    async def first_round() -> None:
        # The parent opens its screen meanwhile; it connects and is answered after this.
        remark = kept.remark or next(iter(hub.fleet.problems), "")
        life.report(msgspec.json.encode(Outcome(remark=remark)))
        with all_is_kept():
            await _wait_for_targets(hub, stop)

    await server.start(first_round)
    tasks = [asyncio.ensure_future(tend()), asyncio.ensure_future(_publish_fleet(hub, server))]
    try:
        await stop.wait()
    finally:
        for task in tasks:
            task.cancel()
        await server.stop()


def for_single_user(settings: HubSettings) -> HubSettings:
    """Without what a hub by itself does for others: a dashboard writes to no store and alerts nobody."""
    return replace(
        settings,
        remote_write=RemoteWrite(),
        federation=Federation(),
        history=History(),
        alerts=Alerts(),
    )


def prepare() -> None:
    """Make this process fit for a hub; the loop is running. Nothing is logged: nobody would read it."""
    logging.getLogger().addHandler(logging.NullHandler())
    raise_open_files()
    pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="hub")
    asyncio.get_running_loop().set_default_executor(pool)


async def _publish_fleet(hub: Hub, server: HubServer) -> None:
    """Show the whole fleet as soon as every target was tried, not up to an interval later."""
    while not (hub.ready and _all_tried(hub.fleet)):
        await asyncio.sleep(_POLL_S)
    give_back()  # the first pages of all; half a millisecond
    server.tick_now()


async def _wait_for_targets(hub: Hub, stop: asyncio.Event) -> None:
    """Wait until every target has answered or failed, but not for long."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_HEAD_START_S):
            while not (stop.is_set() or (hub.ready and _all_tried(hub.fleet))):
                await asyncio.sleep(_POLL_S)


def _all_tried(fleet: Fleet) -> bool:
    return all(
        source.arrived is not None or source.fault is not None
        for node in fleet.nodes.values()
        for source in node.sources.values()
    )
