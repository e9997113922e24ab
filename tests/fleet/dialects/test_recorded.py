"""Recorded scrapes of a real exporter: values as a person reads them in the file."""

from typing import Any

import pytest

from accelwatch.base.absence import Absence
from accelwatch.fleet.dialects import Foreign, read_devices
from accelwatch.schema.health import Health
from accelwatch.schema.reading import Reading
from accelwatch.schema.series import series_of
from support.machines.samples import sample

pytestmark = pytest.mark.oracle

NOW = 1_700_000_000.0


def recorded(name: str) -> Foreign:
    read = read_devices(sample(f"exporters/nvidia_gpu_exporter/{name}.metrics").read_bytes(), NOW)
    assert read.dialects == ("nvidia_gpu_exporter",)
    assert set(read.rejected) <= {"unknown"}
    return read


def holds(reading: Reading, expected: dict[str, float]) -> None:
    found = {path: reading.values.get(series_of(path)) for path in expected}
    assert found == expected


def test_h100_under_load() -> None:
    (view,) = recorded("linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01__load").devices
    holds(
        view.reading,
        {
            "utilization_ratio": 1,
            "memory_controller_utilization_ratio": 0.11,
            "memory_size_bytes": 85520809984,
            "memory_used_bytes": 20780679168,
            "memory_reserved_bytes": 502267904,
            "temperature_celsius.gpu": 59,
            "temperature_celsius.memory": 54,
            "temperature_margin_celsius": 26,
            "power_watts": 625.68,
            "power_limit_watts.enforced": 700,
            "power_limit_watts.min": 200,
            "clock_hertz.sm": 1.98e9,
            "clock_hertz.memory": 2.619e9,
            "clock_hertz.video": 1.545e9,
            "clock_limit_hertz.graphics.max": 1.98e9,
            "performance_state": 0,
            "pcie_link_generation.current": 5,
            "pcie_link_width_lanes.max": 16,
            "ecc_enabled": 1,
            "ecc_errors_total.uncorrected": 0,
            "ecc_lifetime_errors.corrected": 0,
            "memory_remapped_rows.uncorrected": 0,
            "memory_repair_pending": 0,
            "throttle_active.power": 0,
            "throttle_seconds_total.thermal_software": 0,
            "recovery_action_info.none": 1,
            "fabric_state_info.completed": 1,
            "reset_required": 0,
        },
    )
    device = view.device
    assert device.model == "NVIDIA H100 80GB HBM3"
    assert device.pci_bus_id == "0000:00:09.0"
    assert (device.driver_version, device.vbios_version) == ("590.48.01", "96.00.A5.00.01")
    assert (device.index, device.name, device.vendor) == (0, "nvidia0", "nvidia")
    running = {one.pid: (one.command, one.gpu_memory_bytes) for one in view.reading.processes or ()}
    assert running == {
        11327: ("memhog", 2690646016),
        11328: ("memhog", 1616904192),
        11345: ("gpu_burn", 16452157440),
    }
    assert ("throttle_active", "idle") not in view.reading.values
    assert view.reading.absent[("energy_joules_total",)] is Absence.UNSUPPORTED
    assert view.reading.absent[("fan_speed_ratio",)] is Absence.UNSUPPORTED
    assert (view.health, view.sample_time, view.sample_age_s) == (Health.OK, NOW, 0.0)


def test_h100_idle() -> None:
    (view,) = recorded("linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01__idle").devices
    holds(
        view.reading,
        {
            "utilization_ratio": 0,
            "memory_used_bytes": 0,
            "temperature_celsius.gpu": 41,
            "temperature_margin_celsius": 46,
            "power_watts": 69.62,
            "clock_hertz.sm": 345e6,
        },
    )
    assert view.reading.processes == ()


def test_l40s_encodes_at_a_part_of_its_load() -> None:
    (idle,) = recorded("linux-x86_64__nvidia-l40s__595.80__idle").devices
    (load,) = recorded("linux-x86_64__nvidia-l40s__595.80__load").devices
    holds(idle.reading, {"utilization_ratio": 1, "temperature_celsius.gpu": 63})
    holds(
        load.reading,
        {
            "utilization_ratio": 0.09,
            "engine_utilization_ratio.encoder": 0.6,
            "memory_used_bytes": 1294991360,
            "memory_size_bytes": 48305799168,
            "temperature_celsius.gpu": 54,
            "throttle_seconds_total.power": 204.64281599999998,
            "pcie_link_generation.current": 4,
        },
    )
    assert ("temperature_celsius", "memory") not in load.reading.values


@pytest.mark.parametrize(
    ("driver", "state", "expected"),
    [
        ("595.71.05", "load", {"power_watts": 111.5, "temperature_celsius.gpu": 45}),
        ("610.57.04", "load", {"power_watts": 98.14, "clock_hertz.sm": 2.07e9}),
        ("610.57.04", "idle", {"power_watts": 39.17, "pcie_link_generation.current": 1}),
        ("610.57.04", "idle", {"performance_state": 8, "memory_used_bytes": 221249536}),
    ],
)
def test_a_card_for_players(driver: str, state: str, expected: dict[str, Any]) -> None:
    name = f"linux-x86_64__nvidia-geforce-rtx-2080-super__{driver}__{state}"
    (view,) = recorded(name).devices
    holds(view.reading, {"fan_speed_ratio.0": 0.38, "memory_size_bytes": 8589934592, **expected})
    assert view.device.serial is None
    assert view.reading.absent[("ecc_errors_total",)] is Absence.UNSUPPORTED


def test_two_h200_one_of_them_in_mig_mode() -> None:
    first, instance, other, second = recorded("demo__seeded").devices
    assert [view.device.pci_bus_id for view in (first, second)] == ["0000:01:00.0", "0000:02:00.0"]
    assert first.device.uuid == "1c67088e-9ecb-4564-bb97-6151ecc2ef64"
    holds(first.reading, {"power_watts": 626.26, "memory_used_bytes": 33934016512})
    holds(instance.reading, {"memory_size_bytes": 76235669504, "memory_used_bytes": 42883309544})
    holds(other.reading, {"memory_size_bytes": 19327352832, "memory_used_bytes": 974140845})
    assert [view.device.partition for view in (instance, other)] == ["gi2", "gi7"]
    assert other.device.partition_profile == "1g.18gb"
    assert instance.device.parent_id == other.device.parent_id == first.device.id
    assert [(one.code, one.total) for one in second.event_counts] == [("xid_79", 2)]
    assert first.event_counts == ()
