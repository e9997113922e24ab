"""The last device at each address, so that one that broke before it was identified keeps its name.

A lost GPU reports no uuid to a new process: without this it would be one device more, beside the device
that was counted, kept and alerted on before. An address says nothing about a GPU that was exchanged, so
a device that reports its identity there, or elsewhere, is believed at once.
"""

from collections.abc import Callable, Iterable

import msgspec

from accelwatch.schema.device import Device, is_self_identifying, same_address
from accelwatch.schema.snapshot import is_host

# Addresses that are remembered; those reported longest ago go first.
_MOST = 1024


class CachedIdentity(msgspec.Struct, frozen=True):
    """A whole device with the identity that it reported, followed by its partitions."""

    backend: str
    devices: tuple[Device, ...]


class IdentityCache:
    """Devices by address: the PCI address, else the host-local name."""

    def __init__(
        self,
        cached: Iterable[CachedIdentity] = (),
        keep: Callable[[tuple[CachedIdentity, ...]], None] = lambda _: None,
    ) -> None:
        """`keep` is given all of them after each change."""
        # A lost GPU does not report its uuid. The list is also on disk, so a restart of the agent
        # does not lose it.
        self._cached = list(cached)
        self._keep = keep

    def store(self, backend: str, devices: tuple[Device, ...]) -> None:
        """A device has reported its identity: it is nowhere else, and nothing else is at its address."""
        device = devices[0]
        if is_host(device) or not is_self_identifying(device):
            return
        identity = CachedIdentity(backend, devices)
        if identity in self._cached:
            return
        others = [other for other in self._cached if not _excludes(identity, other)]
        self._cached = [*others, identity][-_MOST:]
        self._keep(tuple(self._cached))

    def devices_at(self, backend: str, discovered: Device) -> tuple[Device, ...]:
        """The device last seen at the address of an unidentified device; empty: none known."""
        if is_self_identifying(discovered):
            return ()
        for identity in self._cached:
            if identity.backend == backend and same_address(identity.devices[0], discovered):
                return _as_discovered(identity.devices, discovered)
        return ()


def _excludes(identity: CachedIdentity, other: CachedIdentity) -> bool:
    """Whether the other cannot be true any more."""
    device, before = identity.devices[0], other.devices[0]
    return identity.backend == other.backend and (
        device.id == before.id or device.name == before.name or same_address(device, before)
    )


def _as_discovered(devices: tuple[Device, ...], discovered: Device) -> tuple[Device, ...]:
    """The same under the name and the index that the address has now."""
    device, *partitions = devices
    return (
        msgspec.structs.replace(
            device,
            index=discovered.index,
            name=discovered.name,
            driver_version=discovered.driver_version or device.driver_version,
        ),
        *(
            msgspec.structs.replace(
                partition, name=f"{discovered.name}{partition.name.removeprefix(device.name)}"
            )
            for partition in partitions
        ),
    )
