"""Vendors whose name has changed: what was recorded under the old one is about the same devices.

Exporters of Ascend, Neuron and TPU were read under the makers' names before our agent and they had one.
"""

from types import MappingProxyType

RENAMED = MappingProxyType({"huawei": "ascend", "aws": "neuron", "google": "tpu"})


def current_vendor(vendor: str) -> str:
    """The vendor as it is called now."""
    return RENAMED.get(vendor, vendor)


def current_id(device_id: str) -> str:
    """The id of a device, which begins with its vendor, as it is now."""
    vendor, colon, suffix = device_id.partition(":")
    return f"{RENAMED[vendor]}:{suffix}" if colon and vendor in RENAMED else device_id
