"""What the installed backends know to read of another machine: their commands, by the names of both."""

import logging
from functools import cache

from accelwatch.backend.kit.remote import Remote, RemoteCommand, RemotelyRead
from accelwatch.base.errors import PluginError
from accelwatch.plugins import entry_points as plugins

logger = logging.getLogger(__name__)


# Loading every backend is slow; the installed ones do not change while the process runs.
@cache
def remotes() -> dict[str, Remote]:
    """By backend. One that cannot be loaded is logged once and costs nobody else anything."""
    by_name: dict[str, Remote] = {}
    backends, failures = plugins.load_all(plugins.BACKENDS)
    for failure in failures:
        logger.warning("a backend is skipped over ssh name=%s: %s", failure.name, failure.message)
    for name, backend in backends.items():
        if not isinstance(backend, RemotelyRead):
            continue
        try:
            remote = plugins.load_address(backend.remote)
        except PluginError as error:
            logger.warning("a backend is skipped over ssh name=%s: %s", name, error)
            continue
        if isinstance(remote, Remote):
            by_name[name] = remote
    return by_name


def commands_of(backends: dict[str, Remote]) -> dict[str, RemoteCommand]:
    """All commands by `backend.key`."""
    return {
        f"{name}.{command.key}": command
        for name, remote in backends.items()
        for command in remote.commands
    }


# Read from the installed distributions, which do not change while the process runs.
@cache
def by_pci_vendor() -> dict[str, str]:
    """The backend of each PCI vendor whose presence makes one useful: `{"1002": "amd"}`."""
    names = {address: name for name, address in plugins.addresses(plugins.BACKENDS).items()}
    return {
        vendor: names[address]
        for vendor, address in plugins.addresses(plugins.PRESENCE).items()
        if address in names
    }
