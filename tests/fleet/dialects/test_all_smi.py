"""all-smi's families: what a person reads in its page, our schema must say."""

from typing import Any

import pytest

from accelwatch.fleet.dialects import read_devices
from accelwatch.schema.health import Health
from accelwatch.schema.series import series_of
from accelwatch.schema.snapshot import DeviceView
from support.machines.samples import FIXTURES, sample

NOW = 1_700_000_100.0


@pytest.fixture(scope="module")
def views() -> dict[str, DeviceView]:
    page = (FIXTURES / "fleet/dialects/all_smi_npus.prom").read_bytes()
    return {view.device.name: view for view in read_devices(page, NOW).devices}


EXPECTED: dict[str, dict[str, float]] = {
    "gpu0/gi7/ci0": {
        "utilization_ratio": 0.4,
        "memory_controller_utilization_ratio": 0.125,
        "memory_used_bytes": 1 << 30,
        "memory_size_bytes": 18 << 30,
    },
    "gpu0": {"partitioning_enabled": 1},
    "gpu1": {"partitioning_enabled": 0},
    "gpu0/mig1": {"memory_used_bytes": 7},
    "gpu1/vgpu3": {
        "utilization_ratio": 0.3,
        "memory_controller_utilization_ratio": 0.2,
        "memory_used_bytes": 4 << 30,
        "memory_size_bytes": 8 << 30,
    },
    "gpu2": {
        "temperature_celsius.junction": 88,
        "temperature_celsius.memory": 76,
        "clock_hertz.memory": 1.249e9,
        "clock_hertz.media": 9e8,
        "engine_utilization_ratio.copy": 0.55,
        "fan_speed_ratio.0": 0.45,
        "power_component_watts.card": 310.5,
        "memory_controller_utilization_ratio": 0.33,
    },
    "gpu3": {
        "engine_utilization_ratio.dla0": 0.035,
        "engine_utilization_ratio.dla1": 0.7,
        "clock_hertz.dla": 1.06e9,
    },
    "gpu4": {
        "utilization_ratio": 0.8,
        "memory_bandwidth_utilization_ratio": 0.875,
        "power_limit_watts.max": 850,
    },
    "gpu5": {
        "temperature_celsius.gpu": 61,
        "temperature_celsius.vr": 58,
        "temperature_celsius.inlet": 34,
        "clock_hertz.npu": 1e9,
        "clock_hertz.fabric": 9e8,
        "clock_hertz.soc": 5.4e8,
        "voltage_volts.core": 0.913,
        "current_amperes.core": 69.1,
        "power_limit_watts.max": 160,
    },
    "gpu6": {
        "engine_utilization_ratio.soc": 0.64,
        "temperature_celsius.vr": 81,
        "voltage_volts.core": 0.85,
        "current_amperes.core": 66.5,
        "clock_hertz.npu": 1.202e9,
    },
    "gpu7": {"compute_active_ratio": 0.175, "engine_utilization_ratio.copy": 0.25},
    "gpu8": {"compute_active_ratio": 0.74, "memory_bandwidth_utilization_ratio": 0.88},
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_device_of_the_page(name: str, views: dict[str, DeviceView]) -> None:
    values = views[name].reading.values
    found = {path: values.get(series_of(path)) for path in EXPECTED[name]}
    assert found == EXPECTED[name]


def test_parts_of_a_device_and_its_mode(views: dict[str, DeviceView]) -> None:
    def values_of(name: str) -> tuple[Any, ...]:
        one = views[name].device
        return one.partition_technology, one.partition_profile, one.uuid, one.parent_id

    whole, other = views["gpu0"].device, views["gpu1"].device
    assert values_of("gpu0/gi7/ci0") == ("mig", "1g.18gb", "MIG-71", whole.id)
    assert values_of("gpu1/vgpu3") == ("vgpu", "L40S-8Q", "v-3", other.id)
    assert (whole.partition_mode, other.partition_mode) == ("enabled", "disabled")
    assert (whole.numa_node, other.numa_node) == (1, None)
    assert views["gpu0/gi7/ci0"].device.numa_node is None


@pytest.mark.parametrize("number", ["-1", "0.5", "4294967295", "NaN"])
def test_a_number_that_is_no_numa_node(number: str) -> None:
    line = f'all_smi_gpu_numa_node_id{{gpu="A",gpu_uuid="u",gpu_index="0"}} {number}\n'
    info = 'all_smi_gpu_info{gpu="A",gpu_uuid="u",gpu_index="0"} 1\n'
    assert read_devices(info + line, NOW).devices[0].device.numa_node is None


def test_status_and_errors(views: dict[str, DeviceView]) -> None:
    furiosa, rebellions = views["gpu7"], views["gpu8"]
    assert (furiosa.health, rebellions.health) == (Health.DEGRADED, Health.OK)
    assert [(one.code, one.total) for one in furiosa.event_counts] == [("npu_error", 2)]
    assert "the NPU runs" in furiosa.reading.notes[0]
    assert rebellions.reading.notes == ()


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("gaudi", {"power_limit_watts.max": 850, "memory_bandwidth_utilization_ratio": 0.8737}),
        (
            "rebellions",
            {"compute_active_ratio": 0.7423, "memory_bandwidth_utilization_ratio": 0.8813},
        ),
        ("apple", {"power_component_watts.ane": 1.495}),
        ("neuron", {"utilization_ratio": 0.3114, "memory_size_bytes": 25769803776}),
    ],
)
def test_the_first_device_of_a_recorded_page(page: str, expected: dict[str, float]) -> None:
    text = sample(f"exporters/all_smi/mock_0.28.1_{page}.metrics").read_bytes()
    values = read_devices(text, NOW).devices[0].reading.values
    found = {path: values.get(series_of(path)) for path in expected}
    assert found == pytest.approx(expected)
