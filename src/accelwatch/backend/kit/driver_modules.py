"""The kernel module of a driver that has another name in each release, and a bus that may be hidden."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from accelwatch.backend import Check, Probe
from accelwatch.backend.kit.tool_backend import ToolBackend
from accelwatch.system.kernel import sysfs


def is_loaded(root: Path, names: Sequence[str]) -> bool:
    """Whether one of these modules is loaded."""
    return any((root / "sys/module" / name).is_dir() for name in names)


def module_version(root: Path, names: Sequence[str]) -> str | None:
    """Of the module that is loaded, where it says one."""
    versions = (sysfs.read_text(root / "sys/module" / name / "version") for name in names)
    return next((version for version in versions if isinstance(version, str) and version), None)


def probe(backend: ToolBackend[Any, Any], root: Path, names: Sequence[str]) -> Probe:
    """Look for the vendor's devices on the PCI bus, then for its driver and command.

    Where the bus is shown and has none of them, nothing else is missed; where it is hidden, as in a
    container, the driver is the sign.
    """
    there, loaded = bool(backend.on_bus()), is_loaded(root, names)
    present = there or (not sysfs.shows_pci(root) and loaded)
    checks = [backend.bus_check(there=there)]
    if present:
        remedy = f"load the driver: modprobe {backend.command.module}"
        checks += [
            Check(subject=" or ".join(names), ok=loaded, remedy=remedy),
            backend.command_check(),
        ]
    return Probe(present=present, checks=tuple(checks))
