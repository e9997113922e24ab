"""The process of a hub: settings, state folder, signals; runs until SIGTERM or SIGINT."""

import asyncio
import logging
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from accelwatch.base.clock import Clock, SystemClock
from accelwatch.base.errors import AccelwatchError
from accelwatch.config.layers import Effective
from accelwatch.fleet.hub.collecting import tend
from accelwatch.fleet.hub.following import MakeForeignReader
from accelwatch.fleet.hub.hub import Hub
from accelwatch.fleet.hub.model import HubSettings, UnfitSettingsError
from accelwatch.fleet.hub.reloading import Read, read_again
from accelwatch.fleet.hub.server import HubServer
from accelwatch.system.daemon.lifecycle import Lifecycle
from accelwatch.system.daemon.logs import set_up_logging
from accelwatch.system.daemon.notify import notifier_of
from accelwatch.system.daemon.open_files import raise_open_files
from accelwatch.system.files.file_rights import make_state_folder
from accelwatch.web.protection.exposure import protection_of

logger = logging.getLogger(__name__)

# For name look-ups, each of which may hang for long: the default is few on a small machine.
_THREADS = 32


def state_folder(settings: HubSettings, environ: Mapping[str, str]) -> Path | None:
    """Where the inventory is kept: as configured, systemd's folder, the user's; or nowhere."""
    home = environ.get("XDG_STATE_HOME") or (
        f"{environ['HOME']}/.local/state" if environ.get("HOME") else ""
    )
    configured = settings.state_dir or environ.get("STATE_DIRECTORY", "").partition(":")[0]
    folder = configured or (f"{home}/accelwatch" if home else "")
    if not folder:
        return None
    try:
        make_state_folder(Path(folder))
    except OSError as error:
        text = f"{folder}: cannot keep the inventory: {error.strerror}"
        if configured:
            raise AccelwatchError(text) from error
        logger.warning("%s", text)
        return None
    return Path(folder)


async def serve_hub(read: Read, make_reader: MakeForeignReader | None) -> None:
    """Run a hub until SIGTERM or SIGINT; SIGHUP has it read its configuration again.

    Raises AccelwatchError.
    """
    raise_open_files()
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(_THREADS, thread_name_prefix="hub"))
    clock = SystemClock()
    loaded = await _loaded(read, clock)
    settings = loaded.settings
    set_up_logging(settings.log.level, settings.log.format)
    protection = protection_of(settings.web)
    hub = Hub(settings, clock, make_reader, state_folder(settings, os.environ))
    server = HubServer(
        hub, clock, protection, web=settings.web, interval_s=settings.stream_interval_s
    )
    server.config_file = loaded.file
    life = Lifecycle(
        notifier_of(os.environ, os.getpid()),
        "following",
        alive=lambda: hub.alive,
        read_again=lambda: read_again(server, read),
    )
    life.handle_signals()
    await _start(server, settings, clock)
    server.reloads["hub"] = True
    tending = loop.create_task(tend(), name="garbage")
    try:
        await life.run()
    finally:
        tending.cancel()
        await server.stop()


async def _loaded(read: Read, clock: Clock) -> Effective[HubSettings]:
    """As they are read; people are notified once of those that cannot be used. Raises ConfigError."""
    try:
        return read()
    except UnfitSettingsError as error:
        await _notify_refused(error.settings, clock, error)
        raise


async def _start(server: HubServer, settings: HubSettings, clock: Clock) -> None:
    """Start it; people are notified once if it cannot, and once when it can. Raises AccelwatchError."""
    try:
        await server.start()
    except AccelwatchError as error:
        await _notify_refused(settings, clock, error)
        raise
    await _notify_refused(settings, clock, None)


async def _notify_refused(
    settings: HubSettings, clock: Clock, error: AccelwatchError | None
) -> None:
    """Notify people that the hub does not start, or, without an error, that it has started."""
    if not settings.alerts.sinks:
        return
    from accelwatch.alerting.delivery.refused_start import RefusedStart

    folder = state_folder(settings, os.environ)
    refused = RefusedStart(settings.alerts, folder, clock, "the hub")
    if error is None:
        await refused.is_over()
    else:
        await refused.notify(error)
