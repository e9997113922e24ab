"""What a model's name and a few labels say of a device."""

import pytest

from accelwatch.fleet.dialects.base.models import kind_by, memory_kind_by, vendor_by, vendor_of
from accelwatch.schema.device import DeviceKind, MemoryKind


@pytest.mark.parametrize(
    ("model", "vendor"),
    [
        ("NVIDIA H100 80GB HBM3", "nvidia"),
        ("Tesla T4", "nvidia"),
        ("GeForce RTX 3060", "nvidia"),
        ("MTT S80", "mthreads"),
        ("AMD Instinct MI300X", "amd"),
        ("Instinct MI210", "amd"),
        ("Radeon RX 7900", "amd"),
        ("HL-225", "habana"),
        ("Intel(R) Data Center GPU Max 1550", "intel"),
        ("Apple M2", "apple"),
        ("RBLN-CA12", "rebellions"),
        ("RNGD", "furiosa"),
        ("Tenstorrent n300", "tenstorrent"),
        ("TPU v5e", "tpu"),
        ("Ascend 910B", "ascend"),
        ("AWS Trainium", "neuron"),
        ("Orin (NVIDIA Jetson)", "nvidia"),
        ("Graphics by AMD", "amd"),
        ("XAMD", "unknown"),
        ("", "unknown"),
    ],
)
def test_the_vendor_is_the_start_or_a_word_of_the_model(model: str, vendor: str) -> None:
    assert vendor_of(model) == vendor
    assert vendor_by({"model": model}) == vendor


def test_the_library_names_the_vendor_before_the_model_does() -> None:
    assert vendor_by({"library": "Metal", "model": "NVIDIA H100"}) == "apple"
    assert vendor_by({"library": "nvml", "model": "AMD Instinct"}) == "amd"
    assert vendor_by({}) == "unknown"


@pytest.mark.parametrize(
    ("facts", "vendor", "kind"),
    [
        ({"kind": "GPU"}, "tpu", DeviceKind.GPU),
        ({"kind": "npu"}, "nvidia", DeviceKind.NPU),
        ({"kind": "TPU"}, "nvidia", DeviceKind.NPU),
        ({"kind": "toaster"}, "nvidia", DeviceKind.GPU),
        ({"kind": "toaster"}, "habana", DeviceKind.NPU),
        ({}, "nvidia", DeviceKind.GPU),
        ({"npu": "0"}, "intel", DeviceKind.NPU),
        *(({}, vendor, DeviceKind.NPU) for vendor in ("neuron", "furiosa", "tpu", "ascend")),
        *(({}, vendor, DeviceKind.NPU) for vendor in ("rebellions", "tenstorrent")),
    ],
)
def test_the_reported_kind_counts_then_the_vendor_s(
    facts: dict[str, str], vendor: str, kind: DeviceKind
) -> None:
    assert kind_by(facts, vendor) is kind


@pytest.mark.parametrize(
    ("facts", "vendor", "shared"),
    [
        ({}, "apple", True),
        ({}, "nvidia", False),
        ({"memory": "Unified"}, "amd", True),
        ({"memory": "integrated"}, "amd", True),
        ({"memory": "shared"}, "amd", True),
        ({"memory": "dedicated"}, "amd", False),
        ({"uuid": "JetsonGPU"}, "nvidia", True),
        ({"uuid": "GPU-1"}, "nvidia", False),
        ({"model": "NVIDIA Jetson AGX"}, "nvidia", True),
        ({"model": "NVIDIA GB10"}, "nvidia", True),
        ({"model": "NVIDIA GB100"}, "nvidia", False),
        ({"model": "Thorough"}, "nvidia", False),
    ],
)
def test_whose_memory_a_device_has(facts: dict[str, str], vendor: str, shared: bool) -> None:
    kind = MemoryKind.SHARED if shared else MemoryKind.DEDICATED
    assert memory_kind_by(facts, vendor) is kind
