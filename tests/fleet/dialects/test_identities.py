"""Which device a foreign exporter's row is: vendor, kind, memory, place, partition."""

import pytest

from accelwatch.fleet.dialects import Foreign, read_devices
from accelwatch.fleet.dialects.base.models import vendor_of
from accelwatch.fleet.dialects.registry import DIALECTS
from accelwatch.schema.device import Device, DeviceKind, MemoryKind
from support.machines.samples import FIXTURES, sample

NOW = 1_700_000_100.0
GPU, NPU = DeviceKind.GPU, DeviceKind.NPU
OWN, SHARED = MemoryKind.DEDICATED, MemoryKind.SHARED


def locations() -> Foreign:
    return read_devices((FIXTURES / "fleet/dialects/all_smi_places.prom").read_bytes(), NOW)


def recorded(name: str) -> list[Device]:
    read = read_devices(sample(f"exporters/{name}.metrics").read_bytes(), NOW)
    return [view.device for view in read.devices]


def test_a_slot_of_the_node_is_no_uuid() -> None:
    found = {view.device.index: view.device for view in locations().devices}
    assert [found[index].uuid for index in range(6)] == [None] * 6
    assert found[6].uuid == "69B8B8C3-D948-2CB5-4509-FE9471929F14"
    assert (found[0].pci_bus_id, found[1].pci_bus_id) == ("0000:c1:00.0", "0000:03:00.0")
    assert [found[index].pci_bus_id for index in range(2, 7)] == [None] * 5
    assert found[0].id == "amd:0000:c1:00.0"
    assert len({device.id for device in found.values()}) == 7


def test_vendor_kind_and_memory_by_model_and_word() -> None:
    found = {view.device.index: view.device for view in locations().devices}
    reported = {index: (one.vendor, one.kind, one.memory_kind) for index, one in found.items()}
    assert reported == {
        0: ("amd", GPU, OWN),
        1: ("intel", GPU, OWN),
        2: ("intel", GPU, SHARED),
        3: ("nvidia", GPU, SHARED),
        4: ("tpu", NPU, OWN),
        5: ("apple", GPU, SHARED),
        6: ("neuron", NPU, OWN),
    }


def smi(model: str, labels: str = "") -> Device:
    text = f'all_smi_gpu_info{{gpu="{model}",gpu_uuid="7b",gpu_index="0"{labels}}} 1\n'
    (view,) = read_devices(text, NOW).devices
    return view.device


def test_a_word_of_the_exporter_goes_before_the_model() -> None:
    assert smi("AWS Trainium1", ',type="GPU"').kind is GPU
    assert smi("X1", ',type="NPU"').kind is NPU
    assert smi("X1").kind is GPU
    assert smi("Rebellions ATOM").kind is NPU
    assert smi("NVIDIA GB10", ',memory_type="Unified"').memory_kind is SHARED
    assert smi("NVIDIA X", ',memory_type="Unified"').memory_kind is SHARED
    assert smi("NVIDIA GB10").memory_kind is SHARED
    assert smi("NVIDIA GB200").memory_kind is OWN
    assert smi("X2", ',lib_name="Metal"').vendor == "apple"


def test_labels_of_an_npu_make_one() -> None:
    text = 'all_smi_gpu_info{gpu="X",gpu_uuid="a",gpu_index="0"} 1\n'
    npu = 'all_smi_npu_status{npu="X",npu_uuid="a",npu_index="0"} 1\n'
    assert read_devices(text, NOW).devices[0].device.kind is GPU
    assert read_devices(text + npu, NOW).devices[0].device.kind is NPU


@pytest.mark.parametrize(
    ("model", "vendor"),
    [
        ("AWS Trainium1", "neuron"),
        ("Trainium2", "neuron"),
        ("Inferentia2", "neuron"),
        ("Rebellions RBLN-CA22", "rebellions"),
        ("Furiosa Warboy", "furiosa"),
        ("Intel Gaudi 3", "habana"),
        ("Google Cloud TPU v6e", "tpu"),
        ("Jetson Orin Nano", "nvidia"),
        ("Paws of a cat", "unknown"),
    ],
)
def test_vendors(model: str, vendor: str) -> None:
    assert vendor_of(model) == vendor


def test_the_kind_of_every_dialect_of_npus() -> None:
    npus = {"habana", "ascend", "rebellions", "furiosa", "neuron", "tpu", "tenstorrent"}
    for name in ("gaudi", "ascend", "rebellions", "furiosa", "others"):
        read = read_devices((FIXTURES / f"fleet/dialects/{name}.prom").read_bytes(), NOW)
        for view in read.devices:
            kind = NPU if view.device.vendor in npus else GPU
            assert view.device.kind is kind, view.device.name
    assert npus <= {dialect.vendor for dialect in DIALECTS}


def instance(gpu: int, compute: int, uuid: str, profile: str) -> str:
    labels = f'compute_instance_id="{compute}",gpu_instance_id="{gpu}",mig_uuid="{uuid}"'
    return f'nvidia_smi_mig_info{{{labels},profile="{profile}",uuid="u1"}} 1\n'


MIG = (
    'nvidia_smi_gpu_info{uuid="u1",name="NVIDIA H200",index="0"} 1\n',
    'nvidia_smi_mig_graphics_activity_ratio{gpu_instance_id="2",uuid="u1"} 0.5\n',
    'nvidia_smi_mig_graphics_activity_ratio{gpu_instance_id="7",uuid="u1"} 0.25\n',
    instance(2, 0, "m20", "1c.3g.71gb"),
    instance(7, 0, "m7", "1g.18gb"),
    instance(2, 1, "m21", "1c.3g.71gb"),
)


def test_profile_and_uuid_of_a_mig_instance() -> None:
    """Of two compute instances in one GPU instance neither uuid is the GPU instance's."""
    for text in ("".join(MIG), "".join(reversed(MIG))):
        read = read_devices(text, NOW)
        reported = {
            one.device.partition: (one.device.partition_profile, one.device.uuid)
            for one in read.devices
        }
        assert reported == {
            None: (None, "u1"),
            "gi2": ("1c.3g.71gb", None),
            "gi7": ("1g.18gb", "m7"),
        }


@pytest.mark.parametrize(("number", "mode"), [(0, "disabled"), (1, "enabled"), (2, None)])
def test_the_mode_of_a_device_that_can_be_parted(number: int, mode: str | None) -> None:
    text = MIG[0] + f'nvidia_smi_mig_mode_current{{uuid="u1"}} {number}\n'
    (view,) = read_devices(text, NOW).devices
    assert view.device.partition_mode == mode


@pytest.mark.oracle
def test_recorded_mig_instances() -> None:
    devices = recorded("nvidia_gpu_exporter/demo__seeded")
    modes = [one.partition_mode for one in devices if one.parent_id is None]
    assert modes == ["enabled", "disabled"]
    reported = {
        one.partition: (one.partition_profile, one.uuid) for one in devices if one.partition
    }
    assert reported == {
        "gi2": ("1c.3g.71gb", None),
        "gi7": ("1g.18gb", "7b2137fb-43a7-dedc-f0da-909404e7eccd"),
    }


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "vendor", "kind", "memory"),
    [
        ("neuron", "neuron", NPU, OWN),
        ("gaudi", "nvidia", NPU, OWN),  # the mock calls every device an NVIDIA B200
        ("rebellions", "nvidia", NPU, OWN),
        ("apple", "apple", GPU, SHARED),
        ("nvidia", "nvidia", GPU, OWN),
    ],
)
def test_recorded_pages_of_all_smi(
    name: str, vendor: str, kind: DeviceKind, memory: MemoryKind
) -> None:
    devices = recorded(f"all_smi/mock_0.28.1_{name}")
    assert len(devices) == 8
    assert {(one.vendor, one.kind, one.memory_kind) for one in devices} == {(vendor, kind, memory)}


def test_a_virtual_function_without_a_partition_and_a_uuid() -> None:
    """device-metrics-exporter says of those that their uuid is 0 and their partition -1, unsigned."""
    text = "".join(
        f'gpu_gfx_activity{{card_series="Instinct VF",gpu_id="{at}",gpu_partition_id="4294967295",'
        f'gpu_uuid="00000000-0000-0000-0000-000000000000",serial_number=""}} {at}\n'
        for at in range(2)
    )
    found = read_devices(text, NOW).devices
    assert [(view.device.id, view.device.uuid) for view in found] == [
        ("amd:amd0", None),
        ("amd:amd1", None),
    ]
    assert [view.reading.values["utilization_ratio",] for view in found] == [0.0, 0.01]
    assert [view.health_reasons for view in found] == [(), ()]
