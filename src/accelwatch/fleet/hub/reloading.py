"""The configuration of a hub that runs, of nodes or of hubs, read again."""

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from accelwatch.base.errors import AccelwatchError
from accelwatch.config.layers import Effective
from accelwatch.config.reloading import check_filled
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.web.http.http_server import HttpServer
from accelwatch.web.protection.exposure import check_kept, protection_of
from accelwatch.web.protection.web_config import Protection

logger = logging.getLogger(__name__)

Read = Callable[[], Effective[HubSettings]]


class ConfiguredServer(Protocol):
    """A server whose settings change while it runs."""

    http: HttpServer
    # Whether the configuration of `hub` was read well the last time.
    reloads: dict[str, bool]

    @property
    def settings(self) -> HubSettings:
        """Those in force."""

    async def change(self, settings: HubSettings, protection: Protection) -> None:
        """Other settings from now on. Raises AccelwatchError, and then nothing has changed."""

    def refuse(self, text: str) -> None:
        """Tell why the configuration was refused; empty when it was not."""


async def read_again(server: ConfiguredServer, read: Read) -> None:
    """Read the configuration again; one with a mistake changes nothing and is told."""
    try:
        loaded = await asyncio.to_thread(read)
        check_filled(server.settings, loaded, loaded.file)
        protection = protection_of(loaded.settings.web)
        check_kept(server.http.protection, protection)
        await server.change(loaded.settings, protection)
    except AccelwatchError as error:
        logger.error("configuration refused, the previous one stays in force: %s", error)
        server.reloads["hub"] = False
        server.refuse(str(error))
    else:
        server.refuse("")
        server.reloads["hub"] = True
        logger.info("configuration read again")
