"""From names in the settings to factories of backends, each imported only when it is used."""

import math
import threading
from collections.abc import Callable
from pathlib import Path
from typing import cast

from accelwatch.backend import Backend, Context
from accelwatch.base.clock import Clock
from accelwatch.base.errors import PluginError
from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.plugins import entry_points as plugins
from accelwatch.system.kernel import sysfs
from accelwatch.system.kernel.pci_bus import on_bus

Factory = Callable[[Context], Backend]
_NOT_BY_DEFAULT = frozenset({"replay"})
# How long a scan of the PCI bus counts: backends are opened, and tried again, together.
_FRESH_S = 5.0


def resolve(settings: CollectSettings) -> dict[str, Callable[[], Factory]]:
    """Backend name to a function that imports it; importing may raise PluginError.

    A name that is not installed is in the result too: its function raises.
    """
    if settings.backends and all(":" in name for name in settings.backends):
        return {name: _by_address(name) for name in settings.backends}
    installed = plugins.addresses(plugins.BACKENDS)
    left_out = _NOT_BY_DEFAULT | settings.without
    selected = settings.backends or tuple(name for name in installed if name not in left_out)
    return {name: _factory(name, installed) for name in selected}


def absent(settings: CollectSettings) -> dict[str, str]:
    """Backends that need not be loaded, as none of their marks is here, and how that is known.

    A backend that is configured by name, or has options, is always loaded.
    """
    if settings.backends or not (signatures := plugins.addresses(plugins.PRESENCE)):
        return {}
    root = Path(settings.root)
    bus = on_bus(root)
    reasons: dict[str, str] = {}
    for name, address in plugins.addresses(plugins.BACKENDS).items():
        mine = [signature for signature, owner in signatures.items() if owner == address]
        if mine and name not in settings.options and (reason := _missed(root, bus, mine)):
            reasons[name] = reason
    return reasons


def _missed(root: Path, bus: frozenset[str] | None, signatures: list[str]) -> str:
    """What is missing here; empty where a signature matches, or where the bus cannot be read."""
    paths = [signature for signature in signatures if signature.startswith("/")]
    codes = [signature for signature in signatures if signature not in paths]
    if codes and (bus is None or not bus.isdisjoint(codes)):
        return ""
    if any(sysfs.is_populated(root / path.lstrip("/")) for path in paths):
        return ""
    missed = [f"no PCI function of vendor or driver {', '.join(codes)}"] if codes else []
    missed += [f"nothing at {', '.join(paths)}"] if paths else []
    return ", ".join(missed)


class Absent:
    """The same for a collector that goes on: looked up again once it is some seconds old."""

    def __init__(self, settings: CollectSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._reasons: dict[str, str] = {}
        self._fresh_until = -math.inf
        # Workers of several backends check together; one scan of the bus serves all of them.
        self._refresh_lock = threading.Lock()

    def __call__(self, name: str) -> str:
        """Why a backend need not be loaded now; empty when it may be of use. Any thread may call it."""
        return self.reasons().get(name, "")

    def reasons(self) -> dict[str, str]:
        """Those of all that need not be loaded now."""
        with self._refresh_lock:  # who comes together waits for one look
            now = self._clock.monotonic()
            if now >= self._fresh_until:
                self._reasons = absent(self._settings)
                self._fresh_until = now + _FRESH_S
            return self._reasons


def _factory(name: str, installed: dict[str, str]) -> Callable[[], Factory]:
    if ":" in name:
        return _by_address(name)
    return _by_address(installed[name]) if name in installed else _missing(name, list(installed))


def _by_address(address: str) -> Callable[[], Factory]:
    return lambda: cast(Factory, plugins.load_address(address))


def _missing(name: str, installed: list[str]) -> Callable[[], Factory]:
    def load() -> Factory:
        raise PluginError(f"no backend {name!r}; installed: {', '.join(installed)}")

    return load
