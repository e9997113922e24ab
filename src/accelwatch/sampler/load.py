"""From names in the settings to factories of backends, each imported only when it is asked for."""

import os
from collections.abc import Callable
from typing import cast

from accelwatch.backend import Backend, Context
from accelwatch.errors import PluginError
from accelwatch.sampler.installed import entry_points
from accelwatch.sampler.settings import CollectSettings

Factory = Callable[[Context], Backend]
BACKENDS = "accelwatch.backends"
_NOT_BY_DEFAULT = frozenset({"replay"})


def resolve(settings: CollectSettings) -> dict[str, Callable[[], Factory]]:
    """Backend name to a function that imports it; importing may raise PluginError.

    A name that is not installed is in the result too: its function raises.
    """
    if settings.backends and all(":" in name for name in settings.backends):
        return {name: _by_address(name) for name in settings.backends}
    points = entry_points(BACKENDS)
    disabled = set(os.environ.get("ACCELWATCH_DISABLE_PLUGINS", "").split(","))
    wanted = settings.backends or tuple(
        name for name in sorted(points) if name not in _NOT_BY_DEFAULT and name not in disabled
    )
    return {
        name: _by_address(name)
        if ":" in name
        else _by_address(points[name])
        if name in points
        else _missing(name, sorted(points))
        for name in wanted
    }


def _by_address(address: str) -> Callable[[], Factory]:
    def load() -> Factory:
        from importlib import import_module

        module, _, attribute = address.partition(":")
        try:
            return cast(Factory, getattr(import_module(module), attribute))
        except Exception as error:
            raise PluginError(f"backend {address} cannot be loaded: {error!r}") from error

    return load


def _missing(name: str, installed: list[str]) -> Callable[[], Factory]:
    def load() -> Factory:
        raise PluginError(f"no backend {name!r}; installed: {', '.join(installed)}")

    return load
