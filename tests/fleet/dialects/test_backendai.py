"""The page of Backend.AI's agent: its numbers, its devices' names, and other exporters beside it."""

import pytest

from accelwatch.base.absence import Absence
from accelwatch.fleet.dialects import Foreign, read_devices
from accelwatch.fleet.dialects.exporters.backendai import PLUGINS
from accelwatch.schema.device import DeviceKind, DeviceState
from accelwatch.schema.series import series_of
from support.machines.samples import FIXTURES

NOW = 1_700_000_100.0
PAGE = FIXTURES / "fleet" / "dialects" / "backendai.prom"
GPU = "GPU-00000001-0000-4000-8000-000000000000"
OURS = (
    'accel_device_info{vendor="nvidia",device="nvidia0",uuid="%s",model="NVIDIA H100 80GB HBM3",'
    'kind="gpu"} 1\naccel_power_watts{vendor="nvidia",device="nvidia0",uuid="%s"} 411\n'
)


def line(device: str, metric: str, number: object, value: str = "current") -> str:
    return (
        f'backendai_device_utilization{{agent_id="i-gpu1",device_id="{device}",'
        f'device_metric_name="{metric}",value_type="{value}"}} {number}\n'
    )


def page(device: str, plugin: str) -> str:
    """A device as the open CUDA plug-in reports it, under any plug-in's name."""
    return (
        line(device, f"{plugin}_mem", "1.0e+009")
        + line(device, f"{plugin}_mem", "8.0e+010", "capacity")
        + line(device, f"{plugin}_util", 50.0)
        + line(device, f"{plugin}_util", 100.0, "capacity")
    )


def numbers(read: Foreign, at: int) -> dict[str, float]:
    values = read.devices[at].reading.values
    return {".".join(series): float(number) for series, number in values.items()}


def test_the_numbers_of_devices() -> None:
    read = read_devices(PAGE.read_bytes(), NOW)
    assert read.dialects == ("backendai-nvidia", "backendai")
    assert numbers(read, 0) == {
        "memory_used_bytes": 60317956461,
        "memory_size_bytes": 85899345920,
        "utilization_ratio": 0.92,
        "power_watts": 190,
        "temperature_celsius.gpu": 77,
    }
    assert numbers(read, 1) == {
        "memory_used_bytes": 0,
        "memory_size_bytes": 85899345920,
        "utilization_ratio": 0,
    }
    first = read.devices[0]
    assert (first.device.vendor, first.device.uuid, first.device.kind) == (
        "nvidia",
        GPU,
        DeviceKind.GPU,
    )
    assert first.state is DeviceState.OK


def test_what_the_page_lacks_is_absent_with_the_reason() -> None:
    """Health above all: no errors, no throttling. A number that is none is an error."""
    first, second = read_devices(PAGE.read_bytes(), NOW).devices
    for path in ("ecc_errors_total", "throttle_active", "reported_health_info", "clock_hertz"):
        assert first.reading.absent[series_of(path)] is Absence.UNSUPPORTED
    assert second.reading.absent["power_watts",] is Absence.ERROR
    assert first.reading.processes is None


def test_what_names_no_device_is_not_read() -> None:
    """Containers and processes of a session, which stay ten minutes after its end; CPUs and disks."""
    read = read_devices(PAGE.read_bytes(), NOW)
    assert len(read.devices) == 2
    assert [view.owners for view in read.devices] == [(), ()]
    assert "partition" not in read.rejected
    assert read.rejected["unknown"] == 4  # a count of tasks, two of a container, one of a process


def test_the_node_itself() -> None:
    read = read_devices(PAGE.read_bytes(), NOW)
    assert read.node is not None
    assert read.node.reading.values == {
        ("host_memory_size_bytes",): 1 << 40,
        ("host_memory_used_bytes",): 20 << 30,
    }


def test_a_node_without_accelerators() -> None:
    text = line("0", "cpu_util", 3.0) + line("root", "mem", "1.0e+012", "capacity")
    read = read_devices(text, NOW)
    assert (read.dialects, read.devices) == (("backendai",), ())
    assert read.node is not None


@pytest.mark.parametrize(
    ("vendor", "plugin"), [(vendor, name) for vendor, names in PLUGINS.items() for name in names]
)
def test_plug_ins_of_every_vendor(vendor: str, plugin: str) -> None:
    read = read_devices(page("0", plugin), NOW)
    assert read.dialects == (f"backendai-{vendor}", "backendai")
    (view,) = read.devices
    assert (view.device.vendor, view.device.name, view.device.uuid) == (vendor, f"{vendor}0", None)
    assert numbers(read, 0)["utilization_ratio"] == 0.5
    gpu = vendor in ("nvidia", "amd")
    assert view.device.kind is (DeviceKind.GPU if gpu else DeviceKind.NPU)


def test_devices_of_two_plug_ins_with_one_number() -> None:
    read = read_devices(page("0", "cuda") + page("0", "rocm"), NOW)
    assert [view.device.id for view in read.devices] == ["nvidia:nvidia0", "amd:amd0"]


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ("3", ("nvidia3", None, None)),
        ("0000:C1:00.0", ("nvidia0", None, "0000:c1:00.0")),
        ("npu2", ("nvidia2", None, None)),
        (GPU, ("nvidia0", GPU, None)),
        ("MIG-3f2a9c14-5b7d-5e21-9c3a-000000000001", None),
    ],
)
def test_names_of_devices(device: str, expected: tuple[str, str | None, str | None] | None) -> None:
    (view,) = read_devices(page(device, "cuda"), NOW).devices
    found = view.device
    if expected is None:
        assert found.uuid == device
    else:
        assert (found.name, found.uuid, found.pci_bus_id) == expected


@pytest.mark.parametrize("device", [GPU, "0"], ids=["by uuid", "by number"])
def test_a_device_that_our_agent_reports_is_there_once(device: str) -> None:
    read = read_devices(OURS % (GPU, GPU) + page(device, "cuda"), NOW)
    (view,) = read.devices
    assert view.device.id == f"nvidia:{GPU}"
    assert view.reading.values["power_watts",] == 411
    assert view.reading.values["utilization_ratio",] == 0.5
    assert view.reading.sources["utilization_ratio"] == "backendai-nvidia"


def test_another_number_is_another_device() -> None:
    read = read_devices(OURS % (GPU, GPU) + page("1", "cuda"), NOW)
    assert [view.device.name for view in read.devices] == ["nvidia0", "nvidia1"]


def test_a_number_joins_no_two_devices_with_ids_of_their_own() -> None:
    other = "GPU-00000001-0000-4000-8000-000000000009"
    read = read_devices(OURS % (GPU, GPU) + page(other, "cuda"), NOW)
    assert [view.device.uuid for view in read.devices] == [GPU, other]
