"""A device that sleeps is left asleep: nothing of it is opened that could wake it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from accelwatch.backend import Backend
from accelwatch.base.errors import DeviceSuspended
from support.machines.polling import Poll
from support.machines.staged_machines import Stage

# Answered from memory: struct pci_dev (drivers/pci/pci-sysfs.c), amdgpu's unique_id, and the words of
# amdxdna (drivers/accel/amdxdna/amdxdna_sysfs.c).
KEPT_BY_THE_KERNEL = {
    "power/runtime_status",
    "vendor",
    "device",
    "class",
    "revision",
    "subsystem_vendor",
    "subsystem_device",
    "uevent",
    "numa_node",
    "unique_id",
    "vbnv",
    "fw_version",
}

_opened: list[str] | None = None
_hooked = False


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _opened is not None and event == "open" and isinstance(arguments[0], str | Path):
        _opened.append(str(arguments[0]))


@contextmanager
def opens() -> Iterator[list[str]]:
    """Paths that this process opens meanwhile."""
    global _opened, _hooked  # noqa: PLW0603 - an audit hook cannot be taken away again
    if not _hooked:
        sys.addaudithook(_hook)
        _hooked = True
    _opened = []
    try:
        yield _opened
    finally:
        _opened = None


def below(paths: list[str], folder: Path) -> set[str]:
    """Opened paths below a folder, relative to it, links followed."""
    found = set()
    for path in paths:
        try:
            found.add(str(Path(path).resolve().relative_to(folder)))
        except ValueError:
            continue
    return found


@pytest.mark.needs("sleeps")
def test_a_sleeping_device_is_not_touched(stage: Stage, backend: Backend, poll: Poll) -> None:
    with opens() as paths:
        for _ in range(2):
            polled = poll(backend)
    sleeping = [one for one in polled if one.found.pci_bus_id in stage.asleep]
    assert len(sleeping) == len(stage.asleep)
    for one in sleeping:
        assert isinstance(one.error, DeviceSuspended)
        assert below(paths, stage.asleep[str(one.found.pci_bus_id)]) <= KEPT_BY_THE_KERNEL
        assert stage.calls_into(one.found.index) == 0


@pytest.mark.needs("sleeps")
def test_it_is_read_when_waking_is_allowed(stage: Stage, poll: Poll) -> None:
    backend = stage.backend(wake_suspended=True)
    backend.open()
    polled = poll(backend)
    assert not [one for one in polled if isinstance(one.error, DeviceSuspended)]
    backend.close()
