"""What DRA drivers publish of the devices of a node: ResourceSlices of resource.k8s.io."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from accelwatch_kubernetes.objects.metadata import Metadata

# Oldest last; of v1beta1 a device is within `basic`.
SLICE_VERSIONS = ("v1", "v1beta2", "v1beta1")
# The domain of what is the same for all drivers (dynamic-resource-allocation, deviceattribute).
_STANDARD = "resource.kubernetes.io"


class DeviceTaint(msgspec.Struct, frozen=True, kw_only=True):
    """A taint of a driver's own on a device."""

    key: str = ""
    effect: str = ""


class BasicDevice(msgspec.Struct, frozen=True, kw_only=True):
    """A device, as v1beta1 has it."""

    attributes: Mapping[str, Mapping[str, Any]] = {}
    taints: tuple[DeviceTaint, ...] | None = ()


class SliceDevice(msgspec.Struct, frozen=True, kw_only=True):
    """A device that can be allocated; a partition of one is a device of its own."""

    name: str
    attributes: Mapping[str, Mapping[str, Any]] = {}
    taints: tuple[DeviceTaint, ...] | None = ()
    basic: BasicDevice | None = None

    def texts(self, driver: str) -> dict[str, str]:
        """Attributes that are texts; those of the driver without its domain before them."""
        attributes = self.attributes if self.basic is None else self.basic.attributes
        return {
            name.removeprefix(f"{driver}/"): value["string"]
            for name, value in attributes.items()
            if isinstance(value.get("string"), str)
        }

    @property
    def own_taints(self) -> tuple[DeviceTaint, ...]:
        """Those that its driver has set."""
        return (self.taints if self.basic is None else self.basic.taints) or ()


class Pool(msgspec.Struct, frozen=True, kw_only=True):
    """Of which pool a slice is; slices of an older generation count no more."""

    name: str
    generation: int = 0


class SliceSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a driver publishes."""

    driver: str
    pool: Pool
    node_name: str = ""
    devices: tuple[SliceDevice, ...] | None = ()


class ResourceSlice(msgspec.Struct, frozen=True, kw_only=True):
    """Some of the devices of a pool."""

    metadata: Metadata = Metadata()
    spec: SliceSpec


class _SliceList(msgspec.Struct, frozen=True, kw_only=True):
    items: tuple[ResourceSlice, ...] | None = ()


_DECODER = msgspec.json.Decoder(_SliceList)


# An observation is parsed several times: to propose, to decide and to report.
@lru_cache(maxsize=256)
def slices_of(text: str) -> tuple[ResourceSlice, ...]:
    """The slices of a list as JSON, without those of older generations. Raises ValueError."""
    slices = (_DECODER.decode(text).items or ()) if text else ()
    newest: dict[tuple[str, str], int] = {}
    for entry in slices:
        key = entry.spec.driver, entry.spec.pool.name
        newest[key] = max(newest.get(key, 0), entry.spec.pool.generation)
    return tuple(
        entry
        for entry in slices
        if entry.spec.pool.generation == newest[entry.spec.driver, entry.spec.pool.name]
    )


def standard(name: str) -> str:
    """The name of an attribute that is the same for all drivers."""
    return f"{_STANDARD}/{name}"
