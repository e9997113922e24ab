"""Who uses which devices: ResourceClaims that are allocated and reserved. Pure."""

from collections.abc import Iterable

import msgspec

from accelwatch.action.intent import DeviceKey
from accelwatch_kubernetes.devices.drivers import PublishedDevice, published
from accelwatch_kubernetes.objects.metadata import Metadata
from accelwatch_kubernetes.objects.resource_slice import ResourceSlice


class ClaimUser(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that may use a claim."""

    resource: str = ""
    name: str = ""
    uid: str = ""


class AllocatedDevice(msgspec.Struct, frozen=True, kw_only=True):
    """A device of a claim."""

    driver: str = ""
    pool: str = ""
    device: str = ""


class AllocatedDevices(msgspec.Struct, frozen=True, kw_only=True):
    """The devices of a claim."""

    results: tuple[AllocatedDevice, ...] | None = ()


class Allocation(msgspec.Struct, frozen=True, kw_only=True):
    """What a claim was given."""

    devices: AllocatedDevices = AllocatedDevices()


class ClaimStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How far a claim is."""

    allocation: Allocation | None = None
    reserved_for: tuple[ClaimUser, ...] | None = ()


class ResourceClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim for devices."""

    metadata: Metadata = Metadata()
    status: ClaimStatus | None = None


class _ClaimList(msgspec.Struct, frozen=True, kw_only=True):
    items: tuple[ResourceClaim, ...] | None = ()


def claims_of(text: str) -> tuple[ResourceClaim, ...]:
    """The claims of a list as JSON. Raises ValueError."""
    return msgspec.json.decode(text, type=_ClaimList).items or () if text else ()


def holders_of(
    device: str, claims: Iterable[ResourceClaim], slices: Iterable[ResourceSlice]
) -> dict[str, frozenset[str]]:
    """By the name of each allocated claim of a namespace what it was given, distinguished by one device.

    That device (uuid, serial or PCI address) stands for itself and its partitions; of others the names
    are those of their drivers. Empty where no driver publishes the device: nobody knows then.
    """
    matches = published(DeviceKey(device, serial=device, slot=device), slices)
    if not matches:
        return {}
    holders = {}
    for claim in claims:
        allocation = None if claim.status is None else claim.status.allocation
        results = () if allocation is None else allocation.devices.results or ()
        allocated = {PublishedDevice(entry.driver, entry.pool, entry.device) for entry in results}
        if allocated:
            holders[claim.metadata.name] = frozenset(
                device if entry in matches else f"{entry.driver}/{entry.pool}/{entry.device}"
                for entry in allocated
            )
    return holders


def users(
    claims: Iterable[ResourceClaim], devices: Iterable[PublishedDevice]
) -> frozenset[tuple[str, str, str]]:
    """Namespace, name and uid of the pods for which some devices are reserved."""
    chosen = {(device.driver, device.pool, device.device) for device in devices}
    users_of_claims: set[tuple[str, str, str]] = set()
    for claim in claims:
        status = claim.status or ClaimStatus()
        results = () if status.allocation is None else status.allocation.devices.results or ()
        if chosen.isdisjoint((entry.driver, entry.pool, entry.device) for entry in results):
            continue
        users_of_claims.update(
            (claim.metadata.namespace, user.name, user.uid)
            for user in status.reserved_for or ()
            if user.resource == "pods"
        )
    return frozenset(users_of_claims)
