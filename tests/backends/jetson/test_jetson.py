"""What the kernel shows of the GPU of a Jetson, in base units, and what it does not say."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accelwatch.backend import Context, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost
from accelwatch.schema.device import MemoryKind
from accelwatch.schema.reading import Reading
from accelwatch_jetson import JetsonBackend, thermal
from accelwatch_nvidia import NvidiaBackend
from backends.jetson.machines import GPU, MUTE, ORIN, TX2, lay_out
from support.machines.nvidia_bus import lay_out_gpu
from support.machines.nvml_stand_ins import NvmlScenario, preloaded_nvml
from support.machines.packed_trees import FakeTree
from support.machines.polling import assert_all_believed
from support.machines.samples import sample


def read(root: Path, files: Mapping[str, str]) -> Reading:
    lay_out(root, files)
    backend = JetsonBackend(Context(root=root))
    backend.open()
    (device,) = backend.discover()
    (reading,) = backend.read(device, Request())
    assert_all_believed([device], [reading])
    return reading


def test_who_it_is(tmp_path: Path) -> None:
    lay_out(tmp_path, ORIN)
    backend = JetsonBackend(Context(root=tmp_path))
    assert backend.open().versions == {"l4t": "36.4.3"}
    (device,) = backend.discover()
    assert device.id == "nvidia:1420000000001-gpu"
    assert (device.vendor, device.backend, device.name) == ("nvidia", "jetson", "tegra0")
    assert device.model == "NVIDIA Jetson AGX Orin Developer Kit"
    assert (device.architecture, device.serial) == ("ampere", "1420000000001")
    assert (device.memory_kind, device.pci_bus_id) == (MemoryKind.SHARED, None)
    assert device.device_nodes == ("/dev/nvgpu/igpu0/ctrl",)


def test_a_module_at_work(tmp_path: Path) -> None:
    reading = read(tmp_path, ORIN)
    assert reading.values == {
        ("utilization_ratio",): pytest.approx(0.774),
        ("clock_hertz", "graphics"): 918_000_000,
        ("clock_limit_hertz", "graphics", "max"): 1_300_500_000,
        ("clock_limit_hertz", "graphics", "min"): 306_000_000,
        ("memory_size_bytes",): 64_325_632 * 1024,
        ("memory_used_bytes",): (64_325_632 - 43_187_200) * 1024,
        ("temperature_celsius", "gpu"): pytest.approx(51.312),
        ("temperature_celsius", "junction"): pytest.approx(55.5),
        ("temperature_celsius", "soc"): pytest.approx(55.5),
        ("temperature_limit_celsius", "gpu", "slowdown"): 99.0,
        ("temperature_limit_celsius", "gpu", "shutdown"): 104.5,
        ("power_watts",): pytest.approx(9.5),
        ("power_component_watts", "vdd_gpu_soc"): pytest.approx(9.5),
        ("power_component_watts", "vdd_cpu_cv"): pytest.approx(3.268),
        ("voltage_volts", "vdd_gpu_soc"): 19.0,
        ("voltage_volts", "vdd_cpu_cv"): 19.0,
        ("current_amperes", "vdd_gpu_soc"): 0.5,
        ("current_amperes", "vdd_cpu_cv"): 0.172,
        ("fan_speed_ratio", "0"): pytest.approx(0.2),
        ("fan_speed_rpm", "0"): 1480,
    }
    assert reading.notes == (
        "power_watts is of the rail vdd_gpu_soc, which feeds more than the GPU",
    )


def test_nothing_is_made_of_what_cannot_be(tmp_path: Path) -> None:
    reading = read(tmp_path, TX2)
    assert reading.values == {
        ("clock_limit_hertz", "graphics", "max"): 1_300_500_000,
        ("power_watts",): pytest.approx(0.152),
        ("power_component_watts", "vdd_sys_gpu"): pytest.approx(0.152),
        ("current_amperes", "vdd_sys_gpu"): pytest.approx(0.008),
        ("temperature_celsius", "board"): 29.0,
    }
    assert reading.absent[("utilization_ratio",)] is Absence.ERROR
    assert reading.absent[("clock_hertz", "graphics")] is Absence.ERROR
    assert reading.absent[("temperature_celsius", "gpu")] is Absence.UNSUPPORTED
    assert reading.absent[("memory_size_bytes",)] is Absence.UNSUPPORTED
    assert reading.absent[("voltage_volts", "vdd_sys_gpu")] is Absence.ERROR
    assert reading.notes == ()


def test_a_module_that_says_next_to_nothing(tmp_path: Path) -> None:
    reading = read(tmp_path, MUTE)
    assert reading.values == {("current_amperes", "gpu"): pytest.approx(0.12)}
    assert reading.absent[("power_watts",)] is Absence.ERROR
    assert reading.absent[("temperature_celsius", "gpu")] is Absence.UNSUPPORTED
    assert reading.notes == ()


def test_the_recorded_machine(tmp_path: Path) -> None:
    recorded = json.loads(sample("jetson/sysfs/glances_tegra.json").read_text())["files"]
    reading = read(tmp_path, {"proc/device-tree/compatible": "nvidia,tegra234\0", **recorded})
    assert reading.values == {
        ("utilization_ratio",): pytest.approx(0.774),
        ("temperature_celsius", "gpu"): pytest.approx(51.312),
        ("temperature_celsius", "soc"): pytest.approx(54.812),
    }
    assert reading.absent[("power_watts",)] is Absence.UNSUPPORTED
    assert reading.absent[("clock_hertz", "graphics")] is Absence.UNSUPPORTED


@pytest.mark.parametrize(
    "gpu", ["gpu.0", "platform/gpu.0", "platform/57000000.gpu", "platform/gpu"]
)
def test_where_kernels_have_put_the_gpu(tmp_path: Path, gpu: str) -> None:
    files = {"proc/device-tree/compatible": "nvidia,tegra210\0", f"sys/devices/{gpu}/load": "10"}
    assert read(tmp_path, files).values == {("utilization_ratio",): 0.01}


def test_available_memory_beyond_the_total_is_no_use_of_memory(tmp_path: Path) -> None:
    reading = read(tmp_path, {**ORIN, "proc/meminfo": "MemTotal: 1 kB\nMemAvailable: 2 kB\n"})
    assert reading.absent[("memory_used_bytes",)] is Absence.ERROR


@pytest.mark.parametrize(
    ("kind", "sensor"),
    [
        ("GPU-therm", "gpu"),
        ("gpu-thermal", "gpu"),
        ("gpu_thermal", "gpu"),
        ("tj-thermal", "junction"),
        ("SOC2-therm", "soc"),
        ("Tboard_tegra", "board"),
        ("PMIC-Die", None),
        ("CPU-therm", None),
        ("", None),
    ],
)
def test_zones_by_their_type(kind: str, sensor: str | None) -> None:
    assert thermal.sensor_of(kind) == sensor


@pytest.mark.parametrize("lacking", ["proc/device-tree/compatible", f"{GPU}/load"])
def test_another_machine_is_none(tmp_path: Path, lacking: str) -> None:
    lay_out(tmp_path, {path: text for path, text in ORIN.items() if path != lacking})
    backend = JetsonBackend(Context(root=tmp_path))
    assert not backend.probe().present
    with pytest.raises(BackendUnavailable, match="no integrated GPU"):
        backend.open()


def test_a_gpu_whose_driver_has_gone_is_lost(tmp_path: Path) -> None:
    lay_out(tmp_path, ORIN)
    backend = JetsonBackend(Context(root=tmp_path))
    (device,) = backend.discover()
    (tmp_path / GPU / "load").unlink()
    assert backend.discover() == []
    with pytest.raises(DeviceLost):
        backend.read(device, Request())


@pytest.mark.parametrize("integrated", [True, False])
def test_one_gpu_is_not_two(tmp_path: Path, integrated: bool) -> None:
    """NVML of JetPack 6 knows the GPU of an Orin as well; that of a Thor is on the bus."""
    scenario = NvmlScenario.of(tmp_path / "nvml.scenario", "t4")
    lay_out(tmp_path, ORIN)
    if not integrated:
        (tmp_path / GPU / "load").unlink()
        bus, uuid = (scenario.values[f"device.0.{key}"] for key in ("pci_bus_id", "uuid"))
        lay_out_gpu(FakeTree(tmp_path), bus, uuid, 0, "active")
    with preloaded_nvml(scenario):
        backend = NvidiaBackend(Context(root=tmp_path, options={"source": "nvml"}))
        backend.open()
        discovered = len(backend.discover())
        backend.close()
    assert (discovered, len(JetsonBackend(Context(root=tmp_path)).discover())) == (
        (0, 1) if integrated else (1, 0)
    )


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(st.sampled_from(sorted(set(ORIN) - {f"{GPU}/load"})), st.binary(max_size=24))
)
def test_damaged_files_raise_nothing(tmp_path: Path, damage: dict[str, bytes]) -> None:
    lay_out(tmp_path, ORIN)
    for path, content in damage.items():
        (tmp_path / path).write_bytes(content)
    backend = JetsonBackend(Context(root=tmp_path))
    for device in backend.discover():
        (reading,) = backend.read(device, Request())
        assert_all_believed([device], [reading])
