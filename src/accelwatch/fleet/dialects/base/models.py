"""Vendor, kind and kind of memory of a device, by its model's name and a few words of an exporter."""

import re
from collections.abc import Mapping

from accelwatch.schema.device import DeviceKind, MemoryKind

# Beginning or word of a model's name, and the vendor, as our own agent calls it.
_VENDOR_KEYWORDS = (
    ("nvidia", "nvidia"),
    ("tesla", "nvidia"),
    ("geforce", "nvidia"),
    ("jetson", "nvidia"),
    ("mtt", "mthreads"),
    ("amd", "amd"),
    ("instinct", "amd"),
    ("radeon", "amd"),
    ("gaudi", "habana"),
    ("hl-", "habana"),
    ("intel", "intel"),
    ("apple", "apple"),
    ("rbln", "rebellions"),
    ("rebellions", "rebellions"),
    ("furiosa", "furiosa"),
    ("rngd", "furiosa"),
    ("warboy", "furiosa"),
    ("tenstorrent", "tenstorrent"),
    ("tpu", "tpu"),
    ("google", "tpu"),
    ("ascend", "ascend"),
    ("aws", "neuron"),
    ("trainium", "neuron"),
    ("inferentia", "neuron"),
)

_NPU_VENDORS = frozenset(
    {"ascend", "furiosa", "habana", "neuron", "rebellions", "tenstorrent", "tpu"}
)
_KINDS = {"gpu": DeviceKind.GPU, "npu": DeviceKind.NPU, "tpu": DeviceKind.NPU}
_APPLE_LIBRARY = "metal"
_SHARED_MEMORY = frozenset({"unified", "integrated", "shared"})
# Devices that have no memory of their own: Apple's, NVIDIA's Jetson family and GB10.
_SHARED_MODELS = re.compile(r"\b(apple|jetson|tegra|orin|xavier|thor|gb10)\b")


def vendor_of(model: str) -> str:
    """The vendor by a model's name, or `unknown`."""
    text = model.lower()
    for keyword, vendor in _VENDOR_KEYWORDS:
        if text.startswith(keyword) or f" {keyword}" in text:
            return vendor
    return "unknown"


def vendor_by(facts: Mapping[str, str]) -> str:
    """The vendor by the library that the exporter reads a device with, else by the model's name."""
    if facts.get("library", "").lower() == _APPLE_LIBRARY:
        return "apple"
    return vendor_of(facts.get("model", ""))


def kind_by(facts: Mapping[str, str], vendor: str) -> DeviceKind:
    """The kind that the exporter says, else NPU for the vendors that make nothing else."""
    kind = _KINDS.get(facts.get("kind", "").lower())
    if kind is not None:
        return kind
    npu = vendor in _NPU_VENDORS or "npu" in facts
    return DeviceKind.NPU if npu else DeviceKind.GPU


def memory_kind_by(facts: Mapping[str, str], vendor: str) -> MemoryKind:
    """Whether the device has memory of its own."""
    shared = (
        vendor == "apple"
        or facts.get("memory", "").lower() in _SHARED_MEMORY
        or facts.get("uuid", "") == "JetsonGPU"
        or _SHARED_MODELS.search(facts.get("model", "").lower()) is not None
    )
    return MemoryKind.SHARED if shared else MemoryKind.DEDICATED
