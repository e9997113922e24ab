"""Settings of `evidence`: by which labels others' alerts are told of whom."""

import msgspec
from msgspec import field

from accelwatch.config.field_types import Long


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """How what is pushed finds its node and device, and how long it stands."""

    # Labels whose value is a node, or the address of one of its targets; the first that is known.
    node_labels: tuple[str, ...] = ("node", "instance", "host", "hostname")
    # Labels whose value is the uuid, name, id, PCI address or index of a device.
    device_labels: tuple[str, ...] = ("uuid", "UUID", "device", "gpu", "pci_bus_id")
    # How long what began stands when nobody tells of it again.
    keep_s: Long = field(default=86400.0, name="keep")
