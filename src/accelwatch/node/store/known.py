"""Who was last at each place, so that a device that broke before it said who it is keeps its name.

A lost GPU that is found by a new process tells no uuid: without this it would be one device more, beside
the one that was counted, kept and complained of before. A place says nothing about a GPU that was
exchanged, so whoever is told at a place, by itself or elsewhere, is believed at once.
"""

from collections.abc import Callable, Iterable

import msgspec

from accelwatch.schema.device import Device, same_place, tells_itself
from accelwatch.schema.snapshot import is_host

_MOST = 1024
"""Places that are remembered; those told longest ago go first."""


class Known(msgspec.Struct, frozen=True):
    """A whole device as it told who it is, followed by its partitions."""

    backend: str
    devices: tuple[Device, ...]


class KnownDevices:
    """Devices by place: the PCI address, else the host-local name."""

    def __init__(
        self,
        known: Iterable[Known] = (),
        keep: Callable[[tuple[Known, ...]], None] = lambda _: None,
    ) -> None:
        """`keep` is given all of them after each change."""
        self._known = list(known)
        self._keep = keep

    def tell(self, backend: str, devices: tuple[Device, ...]) -> None:
        """A device has told who it is: it is nowhere else, and nobody else is at its place."""
        whole = devices[0]
        if is_host(whole) or not tells_itself(whole):
            return
        told = Known(backend, devices)
        if told in self._known:
            return
        others = [one for one in self._known if not _excludes(told, one)]
        self._known = [*others, told][-_MOST:]
        self._keep(tuple(self._known))

    def at_place_of(self, backend: str, found: Device) -> tuple[Device, ...]:
        """Who was last where a device is found that does not tell who it is; empty: nobody known."""
        if tells_itself(found):
            return ()
        for one in self._known:
            if one.backend == backend and same_place(one.devices[0], found):
                return _as_found(one.devices, found)
        return ()


def _excludes(told: Known, other: Known) -> bool:
    """Whether the other cannot be true any more."""
    one, before = told.devices[0], other.devices[0]
    return told.backend == other.backend and (
        one.id == before.id or one.name == before.name or same_place(one, before)
    )


def _as_found(devices: tuple[Device, ...], found: Device) -> tuple[Device, ...]:
    """The same under the name and the index that the place has now."""
    whole, *parts = devices
    return (
        msgspec.structs.replace(
            whole,
            index=found.index,
            name=found.name,
            driver_version=found.driver_version or whole.driver_version,
        ),
        *(
            msgspec.structs.replace(part, name=f"{found.name}{part.name.removeprefix(whole.name)}")
            for part in parts
        ),
    )
