"""Composed machines with Intel cards: values over time, tiles, an integrated GPU, an NPU."""

import pytest

from accelwatch.backend import Request
from accelwatch.base.absence import Absence
from accelwatch.schema.device import DeviceKind, MemoryKind
from accelwatch.schema.reading import complete
from support.machines.intel_machines import B580, Composed


def test_arc_behind_its_own_switch(composed: Composed) -> None:
    (reading,) = composed("arc-b580").read()
    expected = {
        ("pcie_link_generation", "current"): 4,
        ("pcie_link_generation", "max"): 4,
        ("pcie_link_width_lanes", "current"): 8,
        ("pcie_link_width_lanes", "max"): 8,
        ("pcie_errors_total", "correctable"): 3,
        ("pcie_errors_total", "nonfatal"): 0,
        ("pcie_errors_total", "fatal"): 0,
        ("clock_hertz", "graphics"): 2_450_000_000,
        ("clock_hertz", "media"): 0,
        ("temperature_celsius", "gpu"): 67,
        ("temperature_celsius", "memory"): 72,
        ("power_limit_watts", "enforced"): 190,
        ("energy_joules_total", "hardware"): 40123.456789,
    }
    assert {series: reading.values[series] for series in expected} == expected


def test_two_tiles_without_sysman(composed: Composed) -> None:
    machine = composed("max1550-two-tiles")
    card, first, second = machine.devices()
    assert card.model == "Intel Data Center GPU Max 1550"
    assert card.numa_node == 1
    assert [tile.id for tile in (first, second)] == [f"{card.id}/tile0", f"{card.id}/tile1"]
    assert [tile.name for tile in (first, second)] == ["intel0tile0", "intel0tile1"]
    machine.read()
    idle = machine.device_file("0000:4b:00.0", "tile1/gt1/gtidle/idle_residency_ms")
    idle.write_text("301000\n")
    machine.clock.advance(1.0)
    whole, busy, resting = machine.read()
    assert whole.values["memory_size_bytes",] == 2 * 68719476736
    assert whole.values["power_limit_watts", "enforced"] == 600
    assert whole.values["pcie_link_generation", "current"] == 5
    assert whole.values["pcie_link_width_lanes", "current"] == 16
    assert whole.values["clock_hertz", "graphics"] == 1_600_000_000, "the fastest tile"
    assert whole.values["throttle_active", "power"] == 1, "any tile"
    assert whole.values["utilization_ratio",] == 1
    assert busy.values["utilization_ratio",] == 1
    assert resting.values["utilization_ratio",] == 0
    assert resting.values["clock_hertz", "graphics"] == 900_000_000
    assert (
        busy.values["throttle_active", "power"],
        resting.values["throttle_active", "power"],
    ) == (
        0,
        1,
    )
    assert busy.absent["processes",] is Absence.UNSUPPORTED


def test_power_above_a_kilowatt_is_not_clamped(composed: Composed) -> None:
    machine = composed("max1550-two-tiles")
    machine.read()
    energy = machine.device_file("0000:4b:00.0", "hwmon/hwmon9/energy1_input")
    energy.write_text(f"{812345678901 + 1_450_000_000}\n")
    machine.clock.advance(1.0)
    whole, *_ = machine.read()
    assert whole.values["power_watts",] == pytest.approx(1450.0)


def test_integrated_gpu_shares_memory(composed: Composed) -> None:
    machine = composed("laptop-meteor-lake")
    gpu, npu = machine.devices()
    assert (gpu.kind, gpu.memory_kind, gpu.numa_node) == (DeviceKind.GPU, MemoryKind.SHARED, None)
    assert gpu.model == "Intel Graphics (Meteor Lake)"
    assert (npu.kind, npu.memory_kind) == (DeviceKind.NPU, MemoryKind.SHARED)
    assert npu.model == "Intel NPU (Meteor Lake)"
    assert npu.name == "intel1"
    machine.read()
    path = machine.root / "proc/2100/fdinfo/3"
    path.write_text(path.read_text().replace("5000000000 ns", "5250000000 ns"))
    machine.clock.advance(1.0)
    (reading,) = machine.read()
    assert reading.values["memory_used_bytes",] == (409600 + 204800 - 2 * 102400) * 1024
    assert reading.values["engine_utilization_ratio", "render"] == pytest.approx(0.25)
    assert reading.values["engine_utilization_ratio", "video"] == 0
    assert reading.values["clock_limit_hertz", "media", "max"] == 1_300_000_000
    assert reading.absent["pcie_link_width_lanes", "max"] is Absence.UNSUPPORTED
    assert ("memory_size_bytes",) not in reading.values


def test_npu(composed: Composed) -> None:
    machine = composed("laptop-meteor-lake")
    (first,) = machine.read(1)
    assert first.values == {
        ("clock_hertz", "npu"): 1_400_000_000,
        ("clock_limit_hertz", "npu", "max"): 1_400_000_000,
        ("memory_used_bytes",): 314572800,
    }
    assert first.absent["utilization_ratio",] is Absence.NOT_COLLECTED
    machine.device_file("0000:00:0b.0", "npu_busy_time_us").write_text("73600000\n")
    machine.clock.advance(2.0)
    (second,) = machine.read(1)
    assert second.values["utilization_ratio",] == pytest.approx(0.3)
    assert [process.command for process in second.processes or ()] == ["python3"]
    assert {process.type for process in second.processes or ()} == {"compute"}


def test_memory_size_of_a_packaged_i915(composed: Composed) -> None:
    machine = composed("arc-a770-faulty")
    machine.device_file("0000:08:00.0", "power/runtime_status").write_text("active\n")
    machine.device_file("0000:08:00.0", "drm/card1/lmem_total_bytes").write_text("6425673728\n")
    assert machine.read(1)[0].values["memory_size_bytes",] == 6425673728


@pytest.mark.parametrize(
    "name", ["arc-b580", "max1550-two-tiles", "laptop-meteor-lake", "arc-a770-faulty"]
)
def test_every_permanent_quantity_has_a_value_or_a_reason(composed: Composed, name: str) -> None:
    machine = composed(name)
    for reading in machine.read():
        whole = complete(reading, frozenset())
        assert not set(whole.values) & set(whole.absent)
        assert all(isinstance(value, int | float) for value in whole.values.values())


def test_a_quick_reading_keeps_what_hardly_changes(composed: Composed) -> None:
    machine = composed("arc-b580")
    backend = machine.backend()
    (device,) = backend.discover()
    backend.read(device, Request(slow=True))
    limit = machine.device_file(B580, "hwmon/hwmon4/power1_cap")
    limit.write_text("150000000\n")
    machine.device_file(B580, "hwmon/hwmon4/temp2_input").write_text("71000\n")
    (quick,) = backend.read(device, Request(slow=False))
    assert quick.values["temperature_celsius", "gpu"] == 71
    assert quick.values["power_limit_watts", "enforced"] == 190
    (slow,) = backend.read(device, Request(slow=True))
    assert slow.values["power_limit_watts", "enforced"] == 150
