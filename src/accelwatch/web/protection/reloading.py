"""The configuration of a server that runs, an agent's or a hub's, read again."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from accelwatch.base.errors import AccelwatchError
from accelwatch.config.layers import Effective
from accelwatch.config.reloading import check_filled
from accelwatch.web.protection.exposure import check_kept
from accelwatch.web.protection.web_config import Protection

logger = logging.getLogger(__name__)

Shape = TypeVar("Shape", bound=msgspec.Struct)


class ConfiguredServer(Protocol[Shape]):
    """A server whose settings change while it runs."""

    # What the settings in force were read from, if from a file.
    config_file: Path | None

    @property
    def settings(self) -> Shape:
        """Those in force."""

    @property
    def protection(self) -> Protection:
        """That in force."""

    async def change(self, settings: Shape, protection: Protection) -> None:
        """Other settings from now on. Raises AccelwatchError, and then nothing has changed."""

    def report_reload(self, error: str) -> None:
        """Show whether the configuration was read well; `error` says why not, empty when it was."""


async def read_again(
    server: ConfiguredServer[Shape],
    read: Callable[[], Effective[Shape]],
    check: Callable[[Effective[Shape]], Protection],
) -> None:
    """Read the configuration again; with a mistake in it the previous one stays in force.

    `read` and `check` raise ConfigError and run in a thread, since a disk may hang.
    """
    try:
        loaded = await asyncio.to_thread(read)
        check_filled(server.settings, loaded, server.config_file)
        protection = await asyncio.to_thread(check, loaded)
        check_kept(server.protection, protection)
        await server.change(loaded.settings, protection)
    except AccelwatchError as error:
        logger.error("configuration refused, the previous one stays in force: %s", error)
        server.report_reload(str(error))
    else:
        server.config_file = loaded.file
        server.report_reload("")
        logger.info("configuration read again")


def note_reload(reloads: dict[str, bool], name: str, successful: bool | None) -> None:
    """Note whether a file was read well the last time; None where there is none to read."""
    if successful is None:
        reloads.pop(name, None)
    else:
        reloads[name] = successful
