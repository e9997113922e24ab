"""The process of a hub that follows hubs; runs until SIGTERM or SIGINT."""

import asyncio
import os

from accelwatch.base.clock import SystemClock
from accelwatch.fleet.global_hub.server import GlobalHubServer
from accelwatch.fleet.hub.collecting import tend
from accelwatch.fleet.hub.reloading import Read, read_again
from accelwatch.fleet.targets.hubs import hub_endpoints
from accelwatch.system.daemon.lifecycle import Lifecycle
from accelwatch.system.daemon.logs import set_up_logging
from accelwatch.system.daemon.notify import notifier_of
from accelwatch.system.daemon.open_files import raise_open_files
from accelwatch.web.protection.exposure import protection_of


async def serve_global_hub(read: Read) -> None:
    """Run it until SIGTERM or SIGINT; SIGHUP has it read its configuration again.

    Raises AccelwatchError.
    """
    raise_open_files()
    loaded = read()
    settings = loaded.settings
    set_up_logging(settings.log.level, settings.log.format)
    server = GlobalHubServer(
        hub_endpoints(settings.targets.hubs), SystemClock(), protection_of(settings.web), settings
    )
    server.config_file = loaded.file
    life = Lifecycle(
        notifier_of(os.environ, os.getpid()),
        "following hubs",
        alive=lambda: server.followed.alive,
        read_again=lambda: read_again(server, read),
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
