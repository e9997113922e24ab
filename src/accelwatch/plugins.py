"""Plug-ins by entry point: names without importing, one with its error, all with failures as data."""

import os
from importlib import metadata
from typing import Any

import msgspec

from accelwatch.errors import PluginError

BACKENDS = "accelwatch.backends"
EXPORTERS = "accelwatch.exporters"


class LoadFailure(msgspec.Struct, frozen=True):
    """A plug-in that could not be loaded, and why."""

    name: str
    message: str


def _points(group: str) -> dict[str, metadata.EntryPoint]:
    return {point.name: point for point in metadata.entry_points(group=group)}


def names(group: str) -> list[str]:
    """Names of the installed plug-ins of a group; imports nothing."""
    return sorted(_points(group))


def load(group: str, name: str) -> Any:
    """The plug-in's factory. Raises PluginError that names what is installed, or the import fault."""
    points = _points(group)
    if name not in points:
        raise PluginError(f"no {group} plug-in {name!r}; installed: {', '.join(sorted(points))}")
    try:
        return points[name].load()
    except Exception as error:
        raise PluginError(
            f"plug-in {name!r} ({points[name].value}) cannot be loaded: {error!r}"
        ) from error


def load_all(group: str) -> tuple[dict[str, Any], list[LoadFailure]]:
    """Every loadable factory by name, and the failures; never raises.

    ACCELWATCH_DISABLE_PLUGINS holds comma-separated names to leave out.
    """
    disabled = set(os.environ.get("ACCELWATCH_DISABLE_PLUGINS", "").split(","))
    loaded: dict[str, Any] = {}
    failures: list[LoadFailure] = []
    for name in names(group):
        if name in disabled:
            continue
        try:
            loaded[name] = load(group, name)
        except PluginError as error:
            failures.append(LoadFailure(name, str(error)))
    return loaded, failures
