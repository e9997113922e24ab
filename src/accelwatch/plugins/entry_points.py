"""Plug-ins by entry point: names without importing, one with its error, all with failures as data.

Entry points are read from the installed distributions' `entry_points.txt` (the packaging specification's
file): `importlib.metadata` gives the same and costs a one-shot command more than reading eight devices.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from accelwatch.base.errors import PluginError

ACTIONS = "accelwatch.actions"
ALERTS = "accelwatch.alerts"
BACKENDS = "accelwatch.backends"
EXPORTERS = "accelwatch.exporters"
# Names are PCI vendor ids (`1002`), drivers of PCI functions (`xe`) and paths (`/sys/class/accel`,
# with something in it); values are addresses of backends. A backend that stands here is of no use
# where none of its names is.
PRESENCE = "accelwatch.presence"

_METADATA = (".dist-info", ".egg-info")


class LoadFailure(msgspec.Struct, frozen=True):
    """A plug-in that could not be loaded, and why."""

    name: str
    message: str


# Reading the metadata of all distributions is most of a one-shot's start. Keyed by the import
# path: a test or a plug-in that changes it gets a fresh answer.
@lru_cache(maxsize=1)
def _declarations(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Text of each installed distribution's entry points, in the order of the import path."""
    return tuple(_read(folders))


def _read(folders: Iterable[str]) -> Iterator[str]:
    for folder in folders:
        try:
            entries = [entry.path for entry in os.scandir(folder) if entry.name.endswith(_METADATA)]
        except OSError:
            continue
        for path in sorted(entries):
            try:
                yield Path(path, "entry_points.txt").read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue


def _section(text: str, group: str) -> Iterator[tuple[str, str]]:
    inside = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            inside = line == f"[{group}]"
        elif inside and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            yield name.strip(), value.partition("[")[0].strip()


def addresses(group: str) -> dict[str, str]:
    """`module:attribute` of each installed plug-in of a group, by name; imports nothing.

    Names in ACCELWATCH_DISABLE_PLUGINS (comma-separated) are left out.
    """
    disabled = set(os.environ.get("ACCELWATCH_DISABLE_PLUGINS", "").split(","))
    by_name: dict[str, str] = {}
    declarations = _declarations(tuple(sys.path))
    for text in declarations:
        for name, value in _section(text, group):
            by_name.setdefault(name, value)
    if not declarations:
        by_name = _by_standard_library(group)
    return {name: by_name[name] for name in sorted(by_name) if name not in disabled}


def _by_standard_library(group: str) -> dict[str, str]:
    """The slow way, for installations that are not directories of files."""
    from importlib import metadata

    return {point.name: point.value for point in metadata.entry_points(group=group)}


def names(group: str) -> list[str]:
    """Names of the installed plug-ins of a group; imports nothing."""
    return list(addresses(group))


def unknown(group: str, requested: Iterable[str]) -> str:
    """A complaint about the first name that is not installed, with the nearest; empty when all are.

    An address (`module:attribute`) is no name and always passes.
    """
    installed = names(group)
    for name in requested:
        if ":" not in name and name not in installed:
            import difflib  # for mistakes only

            close = difflib.get_close_matches(name, installed, n=1)
            meant = (
                f"; did you mean {close[0]}?" if close else f"; installed: {', '.join(installed)}"
            )
            return f"{name!r} is not installed{meant}"
    return ""


def load_address(address: str) -> Any:
    """What `module:attribute` names. Raises PluginError with the import's fault."""
    module, _, attribute = address.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except Exception as error:
        raise PluginError(f"plug-in {address} cannot be loaded: {error!r}") from error


def load(group: str, name: str) -> Any:
    """The plug-in's factory. Raises PluginError that names what is installed, or the import fault."""
    installed = addresses(group)
    if name not in installed:
        raise PluginError(f"no {group} plug-in {name!r}; installed: {', '.join(installed)}")
    return load_address(installed[name])


def load_all(group: str) -> tuple[dict[str, Any], list[LoadFailure]]:
    """Every loadable factory by name, and the failures; never raises."""
    loaded: dict[str, Any] = {}
    failures: list[LoadFailure] = []
    for name, address in addresses(group).items():
        try:
            loaded[name] = load_address(address)
        except PluginError as error:
            failures.append(LoadFailure(name, str(error)))
    return loaded, failures
