"""The configuration of a hub that runs, of nodes or of hubs, read again."""

from collections.abc import Callable

from accelwatch.config.layers import Effective
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.web.protection import reloading
from accelwatch.web.protection.exposure import protection_of
from accelwatch.web.protection.reloading import ConfiguredServer

Read = Callable[[], Effective[HubSettings]]


async def read_again(server: ConfiguredServer[HubSettings], read: Read) -> None:
    """Read the configuration again; with a mistake in it the previous one stays in force."""
    await reloading.read_again(server, read, lambda loaded: protection_of(loaded.settings.web))
