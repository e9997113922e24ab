"""The process of a hub that follows hubs; runs until SIGTERM or SIGINT."""

import asyncio
import logging
import os
from collections.abc import Callable

from accelwatch.base.clock import SystemClock
from accelwatch.base.errors import AccelwatchError
from accelwatch.config.layers import Effective
from accelwatch.config.reloading import check_filled
from accelwatch.fleet.global_hub.server import GlobalHubServer
from accelwatch.fleet.hub.collecting import tend
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.targets.hubs import hub_endpoints
from accelwatch.system.daemon.lifecycle import Lifecycle
from accelwatch.system.daemon.logs import set_up_logging
from accelwatch.system.daemon.notify import notifier_of
from accelwatch.system.daemon.open_files import raise_open_files
from accelwatch.web.protection.exposure import check_kept, protection_of

logger = logging.getLogger(__name__)

Read = Callable[[], Effective[HubSettings]]


async def serve_global_hub(read: Read) -> None:
    """Run it until SIGTERM or SIGINT; SIGHUP has it read its configuration again.

    Raises AccelwatchError.
    """
    raise_open_files()
    settings = read().settings
    set_up_logging(settings.log.level, settings.log.format)
    server = GlobalHubServer(
        hub_endpoints(settings.targets.hubs),
        SystemClock(),
        protection_of(settings.web),
        web=settings.web,
        interval_s=settings.stream_interval_s,
    )
    reader = _Reader(server, settings, read)
    life = Lifecycle(
        notifier_of(os.environ, os.getpid()),
        "following hubs",
        alive=lambda: server.followed.alive,
        read_again=reader.read_again,
    )
    life.handle_signals()
    await server.start()
    server.reloads["hub"] = True
    tending = asyncio.create_task(tend(), name="garbage")
    try:
        await life.run()
    finally:
        tending.cancel()
        await server.stop()


class _Reader:
    """Reads the configuration again; one with a mistake changes nothing and is told."""

    def __init__(self, server: GlobalHubServer, settings: HubSettings, read: Read) -> None:
        self._server = server
        self._settings = settings
        self._read = read

    async def read_again(self) -> None:
        server = self._server
        try:
            loaded = await asyncio.to_thread(self._read)
            check_filled(self._settings, loaded, loaded.file)
            protection = protection_of(loaded.settings.web)
            check_kept(server.http.protection, protection)
            await server.change(self._settings, loaded.settings, protection)
        except AccelwatchError as error:
            logger.error("configuration refused, the previous one stays in force: %s", error)
            server.reloads["hub"] = False
        else:
            self._settings = loaded.settings
            server.reloads["hub"] = True
            logger.info("configuration read again")
