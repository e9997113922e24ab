"""Every shape of a device's name that a plug-in, driver or scheduler uses."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.node.workloads.device_ids import RESOURCES, DeviceIndex, is_accelerator
from accelwatch.schema.device import Device, DeviceKind
from support.machines.composed import device

GPU0, GPU1 = device(0).uuid, device(1).uuid
MIG = "MIG-3f2a9c14-5b7d-5e21-9c3a-000000000001"


def named(vendor: str, index: int, **changes: object) -> Device:
    plain = device(
        index,
        id=f"{vendor}:{index}",
        vendor=vendor,
        name=f"{vendor}{index}",
        uuid=None,
        serial=None,
        pci_bus_id=None,
    )
    return msgspec.structs.replace(plain, **changes)


NVIDIA = (
    device(0, device_nodes=("/dev/nvidia1",)),
    device(1, device_nodes=("/dev/nvidia0",)),
    device(
        0,
        id=f"nvidia:{MIG}",
        uuid=MIG,
        name="nvidia0-gi1-ci0",
        parent_id=device(0).id,
        partition="gi1/ci0",
        device_nodes=("/dev/nvidia1",),
    ),
    device(
        1,
        id="nvidia:second",
        uuid="MIG-3f2a9c14-5b7d-5e21-9c3a-000000000002",
        parent_id=device(0).id,
        partition="gi11/ci0",
    ),
)
OTHERS = (
    named(
        "amd", 0, pci_bus_id="0000:83:00.0", device_nodes=("/dev/dri/card1", "/dev/dri/renderD128")
    ),
    named("amd", 9, parent_id="amd:0", partition="xcp1", device_nodes=("/dev/dri/renderD131",)),
    named("intel", 0, pci_bus_id="0000:03:00.0", device_nodes=("/dev/dri/card0",)),
    named("habana", 0, serial="AN12345678"),
    named("huawei", 3),
    named("rebellions", 2, device_nodes=("/dev/rbln2",)),
    named("furiosa", 1, device_nodes=("/dev/rngd/npu1",)),
    named("aws", 4, device_nodes=("/dev/neuron4",)),
    named("google", 0, device_nodes=("/dev/accel0",)),
    named("tenstorrent", 0, device_nodes=("/dev/tenstorrent/0",)),
    named("host", 7, kind=DeviceKind.HOST, serial="HOSTSERIAL"),
)
INDEX = DeviceIndex(NVIDIA + OTHERS, {"amdgpu_xcp_3": "/dev/dri/renderD131"})
FIRST, SECOND = device(0).id, device(1).id


@pytest.mark.parametrize(
    ("resource", "name", "expected"),
    [
        ("nvidia.com/gpu", GPU0, FIRST),
        ("nvidia.com/gpu", f"{GPU1}::3", SECOND),
        ("nvidia.com/gpu.shared", f"{GPU1}::0", SECOND),
        ("nvidia.com/mig-1g.10gb", MIG, f"nvidia:{MIG}"),
        ("nvidia.com/gpu", f"{MIG}::1", f"nvidia:{MIG}"),
        ("nvidia.com/gpu", "nvidia0", SECOND),
        ("nvidia.com/gpu", "nvidia1", FIRST),
        ("nvidia.com/gpu", "nvidia0/vgpu1", SECOND),
        ("nvidia.com/gpu", "nvidia1/gi1", f"nvidia:{MIG}"),
        ("nvidia.com/gpu", "nvidia1/gi1/vgpu0", f"nvidia:{MIG}"),
        ("nvidia.com/gpu", "nvidia1/gi2", None),
        ("nvidia.com/gpu", "nvidia7", None),
        ("amd.com/gpu", "0000:83:00.0", "amd:0"),
        ("amd.com/cpx_nps4", "amdgpu_xcp_3", "amd:9"),
        ("amd.com/gpu", "amdgpu_xcp_4", None),
        ("gpu.intel.com/i915", "card0-1", "intel:0"),
        ("gpu.intel.com/xe", "card9-0", None),
        ("habana.ai/gaudi", "AN12345678", "habana:0"),
        ("huawei.com/Ascend910", "Ascend910-3", "huawei:3"),
        ("huawei.com/Ascend910", "Ascend910-4", None),
        ("rebellions.ai/ATOM", "rbln2", "rebellions:2"),
        ("furiosa.ai/rngd", "npu1", "furiosa:1"),
        ("aws.amazon.com/neuron", "neuron4", "aws:4"),
        ("google.com/tpu", "0", "google:0"),
        ("tenstorrent.com/n150", "0", "tenstorrent:0"),
        ("example.com/renamed", GPU1, SECOND),
        ("example.com/nic", "0000:83:00.1", None),
        ("example.com/serials", "AN12345678", None),
        ("example.com/kvm", "0", None),
        ("nvidia.com/gpu", "", None),
    ],
)
def test_device_plugin_names(resource: str, name: str, expected: str | None) -> None:
    assert INDEX.resolve_names(resource, [name]) == ((expected,) if expected else ())


@pytest.mark.parametrize(
    ("driver", "names", "expected"),
    [
        ("gpu.nvidia.com", [f"k8s.gpu.nvidia.com/device={GPU1}", "x"], SECOND),
        ("gpu.nvidia.com", [f"k8s.gpu.nvidia.com/claim=c-{str(GPU1)[4:]}"], SECOND),
        ("gpu.nvidia.com", ["k8s.gpu.nvidia.com/device=gpu-0", "gpu-0"], SECOND),
        ("gpu.nvidia.com", ["k8s.gpu.nvidia.com/device=gpu-0-mig-1g.10gb-0-1"], None),
        ("gpu.nvidia.com", ["k8s.gpu.nvidia.com/claim=aaaaaaaa-0000-0000-0000-000000000000"], None),
        ("gpu.amd.com", ["amd.com/gpu=x", "gpu-1-128"], "amd:0"),
        ("gpu.intel.com", ["intel.com/gpu=0000-03-00-0-0x56c0"], "intel:0"),
        ("net.example.com", ["example.com/nic=eth0", "eth0"], None),
        ("gpu.nvidia.com", [], None),
    ],
)
def test_names_of_dynamic_resources(driver: str, names: list[str], expected: str | None) -> None:
    assert INDEX.resolve_names(driver, names) == ((expected,) if expected else ())


@pytest.mark.parametrize(
    ("resource", "name"),
    [("amd.com/cpx_nps4", "0000:83:00.0"), ("gpu.amd.com", "gpu-1-128")],
)
def test_the_first_partition_goes_by_the_name_of_the_device(resource: str, name: str) -> None:
    """amdgpu makes further devices for all partitions but the first."""
    first = named(
        "amd", 8, parent_id="amd:0", partition="xcp0", device_nodes=("/dev/dri/renderD128",)
    )
    index = DeviceIndex((*OTHERS, first), {"amdgpu_xcp_3": "/dev/dri/renderD131"})
    assert index.resolve_names(resource, [name]) == ("amd:8",)
    assert index.resolve_names("amd.com/cpx_nps4", ["amdgpu_xcp_3"]) == ("amd:9",)


def test_where_no_device_node_is_known_the_index_counts() -> None:
    """nvidia-smi's XML may give no minor number; GKE names the device by it."""
    index = DeviceIndex([device(0), device(1)])
    assert index.resolve_names("nvidia.com/gpu", ["nvidia1"]) == (SECOND,)
    assert index.resolve_names("gpu.nvidia.com", ["gpu-1"]) == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (GPU0, FIRST),
        (str(GPU0).upper(), FIRST),
        ("1650000000001", SECOND),
        ("00000000:19:00.0", SECOND),
        ("nvidia0", FIRST),
        ("/dev/nvidia0", SECOND),
        ("HOSTSERIAL", None),
        ("", None),
    ],
)
def test_any_name_of_a_device(name: str, expected: str | None) -> None:
    assert INDEX.named(name) == ((expected,) if expected else ())


def test_an_index_counts_only_where_it_is_clear() -> None:
    plain = DeviceIndex([device(0), device(1)])
    assert plain.counted(1) == (SECOND,)
    assert plain.counted(2) == ()
    assert DeviceIndex(NVIDIA).counted(0) == ()
    assert DeviceIndex(NVIDIA).counted(1) == (SECOND,)
    assert DeviceIndex([device(0), named("intel", 0)]).counted(0) == ()
    assert DeviceIndex(NVIDIA).device_at_index(0) == FIRST


def test_each_resource_row_is_reached() -> None:
    for row in RESOURCES:
        assert is_accelerator(row.pattern.replace("*", "x"))
    assert not is_accelerator("intel.com/qat")
    assert not is_accelerator("cpu")


@settings(deadline=None)
@given(st.sampled_from([row.pattern for row in RESOURCES]), st.text(max_size=60))
def test_no_name_breaks_the_index(resource: str, name: str) -> None:
    assert len(INDEX.resolve_names(resource.replace("*", "gpu"), [name])) <= 2
