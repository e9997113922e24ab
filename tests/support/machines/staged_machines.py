"""What a fixture machine is: something that can be staged below a folder, and backends over it."""

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from accelwatch.backend import Backend, Context
from accelwatch.base.clock import ManualClock
from accelwatch.schema.device import Device

Factory = Callable[[Context], Backend]


class Stage:
    """A machine that stands: a root, a clock, and backends over them."""

    def __init__(self, factory: Factory, root: Path, **context: Any) -> None:
        self.root = root
        self.clock = ManualClock()
        # Takes the last device away, where the machine can.
        self.remove: Callable[[Device], None] | None = None
        # PCI id of each sleeping device to its folder.
        self.asleep: Mapping[str, Path] = {}
        # How often a vendor library was asked about the device of an index.
        self.calls_into: Callable[[int], int] = lambda _: 0
        # Least real time between two rounds for quantities that a library samples over time.
        self.settle_s = 0.0
        self._factory = factory
        self._context = context

    def backend(self, **context: Any) -> Backend:
        """A new backend that is not open."""
        return self._factory(
            Context(root=self.root, clock=self.clock, **{**self._context, **context})
        )


class FixtureMachine(msgspec.Struct, frozen=True):
    """One machine of the table."""

    name: str
    vendor: str
    healthy: bool
    stage: Callable[[Path], contextlib.AbstractContextManager[Stage]]
    # Traits of a machine that are not those which the table below has for its vendor.
    can: frozenset[str] = frozenset()
    # Names of files by which its devices are found at all; what is in all others may be damaged.
    finding: frozenset[str] = frozenset()
    # All of it can be read, and what is read says that something is wrong.
    reports_fault: bool = False

    @property
    def traits(self) -> frozenset[str]:
        """What can be tried on it: `sleeps`, `removable`, `events`, `devices`, `files`.

        `files`: all that is read are files below its root, whose contents can be damaged.
        """
        found = set(self.can or _TRAITS.get(self.vendor, self.can))
        if self.vendor in _FILES and not self.name.endswith("-sysman"):
            found.add("files")
        return frozenset(found | {"sleeps"} if self.name in _SLEEPING else found)


_TRAITS = {
    "nvidia": {"devices", "removable", "events"},
    "amd": {"devices", "removable", "events"},
    "intel": {"devices", "removable"},
    "host": {"devices"},
    "kernel": {"events"},
    "replay": {"devices", "events"},
}
_FILES = {"amd", "intel", "host"}
_SLEEPING = {"nvidia-asleep", "amd-mi300x-faulty", "intel-arc-a770-faulty"}
