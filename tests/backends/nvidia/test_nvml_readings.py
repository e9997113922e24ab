"""Readings through the real binding over the stand-in library: values, units, absences, groups."""

import pytest

from accelwatch.backend import Request
from accelwatch.base.absence import Absence
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.device import MemoryKind
from accelwatch.schema.reading import Link, complete

from .conftest import Rig

ALL_GROUPS = ("pipes", "pools", "components", "clocks", "pcie", "links", "ecc", "processes")


def test_identity_of_a_healthy_gpu(rig: Rig) -> None:
    rig.tree.write("sys/bus/pci/devices/0000:10:00.0/numa_node", "1\n")
    with rig.machine(rig.scenario("h100x8")) as machine:
        assert machine.opened.source == "nvml"
        assert machine.opened.versions == {
            "driver": "590.48.01",
            "nvml": "13.590.48.01",
            "cuda": "13.1",
        }
        assert [device.name for device in machine.found] == [f"nvidia{i}" for i in range(8)]
        (device,) = machine.identify(0)
    assert device.id == "nvidia:GPU-5ca1ab1e-0001-4000-8000-000000000000"
    assert device.model == "NVIDIA H100 80GB HBM3"
    assert device.architecture == "Hopper"
    assert device.serial == "1650001000000"
    assert device.part_number == "692-2G520-0200-000"
    assert device.vbios_version == "96.00.99.00.01"
    assert device.driver_version == "590.48.01"
    assert device.pci_bus_id == "0000:10:00.0"
    assert device.numa_node == 1
    assert device.device_nodes == ("/dev/nvidia0",)
    assert device.memory_kind is MemoryKind.DEDICATED
    assert device.partition_mode == "disabled"


def test_values_are_in_base_units(rig: Rig) -> None:
    with rig.machine(rig.scenario("h100x8")) as machine:
        values = machine.read(0)[0].values
    assert values["utilization_ratio",] == 1.0
    assert values["memory_controller_utilization_ratio",] == 0.11
    assert values["memory_size_bytes",] == 85520809984
    assert values["memory_used_bytes",] == 65237155840
    assert values["memory_reserved_bytes",] == 503316480
    assert values["temperature_celsius", "gpu"] == 55
    assert values["temperature_celsius", "memory"] == 55
    assert values["temperature_margin_celsius",] == 26
    assert values["temperature_headroom_celsius",] == 28
    assert values["power_watts",] == 588.39
    assert values["power_limit_watts", "enforced"] == 700
    assert values["power_limit_watts", "min"] == 200
    assert values["energy_joules_total", "hardware"] == 184467440.737
    assert values["clock_hertz", "sm"] == 1_980_000_000
    assert values["clock_limit_hertz", "memory", "max"] == 2_619_000_000
    assert values["throttle_seconds_total", "power"] == 7015.662857
    assert values["pcie_link_generation", "current"] == 5
    assert values["pcie_link_width_lanes", "max"] == 16
    assert values["interconnect_links", "nvlink", "up"] == 18
    assert values["interconnect_links", "nvlink", "down"] == 0
    assert values["ecc_enabled",] == 1
    assert values["ecc_errors_total", "uncorrected"] == 0
    assert values["memory_remapped_rows", "uncorrected"] == 0
    assert values["fabric_state_info", "completed"] == 1
    assert values["reset_required",] == 0
    assert values["recovery_action_info", "none"] == 1


def test_every_series_is_a_row_of_the_catalogue(rig: Rig) -> None:
    with rig.machine(rig.scenario("h100x8")) as machine:
        reading = machine.read(0, *ALL_GROUPS)[0]
    for series in (*reading.values, *reading.absent):
        row = by_key()[series[0]]
        assert len(series) in (1, len(row.labels) + 1), series
        assert all(series[1:])
    for series in reading.values:
        assert len(series) == len(by_key()[series[0]].labels) + 1


def test_a_quantity_without_any_series_has_one_reason(rig: Rig) -> None:
    with rig.machine(rig.scenario("h100x8")) as machine:
        reading = complete(machine.read(0)[0], frozenset())
    assert reading.absent["fan_speed_ratio",] is Absence.UNSUPPORTED
    assert reading.absent["memory_retired_pages",] is Absence.UNSUPPORTED
    assert reading.absent["temperature_limit_celsius",] is Absence.UNSUPPORTED
    assert reading.absent["memory_pool_size_bytes",] is Absence.NOT_COLLECTED
    assert not {series[0] for series in reading.values} & {
        series[0] for series in reading.absent if len(series) == 1
    }


def test_opt_in_groups_bring_their_families(rig: Rig) -> None:
    with rig.machine(rig.scenario("h100x8")) as machine:
        plain = machine.read(0)[0]
        reading = machine.read(0, "pools", "pcie", "links", "ecc")[0]
    opted = {"memory_pool_used_bytes", "pcie_throughput_bytes_per_second", "link_up"}
    assert not opted & {series[0] for series in plain.values}
    assert plain.links == ()
    values = reading.values
    assert values["memory_pool_size_bytes", "bar1"] == 137438953472
    assert values["pcie_throughput_bytes_per_second", "transmit"] == 3_092_000
    assert values["ecc_location_errors_total", "uncorrected", "dram"] == 0
    assert values["link_up", "nvlink", "17"] == 1
    assert values["link_errors_total", "nvlink", "3", "crc"] == 0
    assert values["link_bytes_total", "nvlink", "0", "receive"] == 0
    assert reading.links[0] == Link(fabric="nvlink", link="0", remote="0000:05:00.0", up=True)


def test_links_down_and_errors_are_summed(rig: Rig) -> None:
    scenario = rig.scenario("h100x8").set(0, "nvlink.4.state", 0).set(0, "field.163.7", "u64:12")
    scenario.set(0, "field.163.9", "u64:30").set(0, f"field.138.{0xFFFFFFFF}", "u64:5")
    with rig.machine(scenario) as machine:
        values = machine.read(0)[0].values
    assert values["interconnect_links", "nvlink", "up"] == 17
    assert values["interconnect_links", "nvlink", "down"] == 1
    assert values["interconnect_errors_total", "nvlink", "crc"] == 42
    assert values["interconnect_bytes_total", "nvlink", "transmit"] == 5 * 1024


def test_throttle_reasons_without_idle(rig: Rig) -> None:
    scenario = rig.devices(1).set(0, "clocks_event_reasons", 0x1 | 0x4 | 0x8 | 0x40)
    with rig.machine(scenario) as machine:
        values = machine.read(0)[0].values
    states = {
        series[1]: value for series, value in values.items() if series[0] == "throttle_active"
    }
    assert states == {
        "clock_setting": 0,
        "power": 1,
        "sync_boost": 0,
        "thermal_software": 0,
        "thermal_hardware": 1,
        "power_brake": 0,
        "other": 0,
    }


def test_idleness_is_a_quantity_of_its_own(rig: Rig) -> None:
    scenario = rig.devices(3).set(0, "clocks_event_reasons", 0x1)
    scenario.set(1, "clocks_event_reasons", 0x40)
    scenario.set(2, "clocks_event_reasons", 0).set(2, "clocks_event_reasons_supported", 0x1FE)
    with rig.machine(scenario) as machine:
        found = [machine.read(number, "clocks")[0] for number in range(3)]
        plain = machine.read(0)[0]
    assert [one.values.get(("clocks_idle",)) for one in found] == [1, 0, None]
    assert found[2].absent["clocks_idle",] is Absence.UNSUPPORTED
    assert ("clocks_idle",) not in plain.values


def test_the_average_stands_beside_the_instant_power(rig: Rig) -> None:
    with rig.machine(rig.scenario("h100x8")) as machine:
        values = machine.read(0, "components")[0].values
    assert (values["power_watts",], values["power_average_watts",]) == (588.39, 629.45)


def test_faults_that_the_driver_reports(rig: Rig) -> None:
    scenario = rig.devices(1).set(0, "recovery_action", 4).set(0, "remapped_rows", "1,2,1,1")
    scenario.set(0, "ecc_volatile_uncorrected", 3).set(0, "fabric_health_mask", 0x10)
    with rig.machine(scenario) as machine:
        reading = machine.read(0)[0]
    assert reading.values["reset_required",] == 1
    assert reading.values["recovery_action_info", "drain_and_reset"] == 1
    assert reading.values["memory_remapped_rows", "uncorrected"] == 2
    assert reading.values["memory_repair_pending",] == 1
    assert reading.values["memory_repair_failed",] == 1
    assert reading.values["ecc_errors_total", "uncorrected"] == 3
    assert reading.values["fabric_state_info", "unhealthy"] == 1
    assert reading.notes == ("fabric: route unhealthy",)


def test_an_action_that_is_about_a_domain_requests_no_reset(rig: Rig) -> None:
    with rig.machine(rig.devices(1).set(0, "recovery_action", 5)) as machine:
        values = machine.read(0)[0].values
    assert values["recovery_action_info", "recover_imex_domain"] == 1
    assert values["reset_required",] == 0


def test_an_unknown_recovery_action_keeps_its_number(rig: Rig) -> None:
    with rig.machine(rig.devices(1).set(0, "recovery_action", 42)) as machine:
        values = machine.read(0)[0].values
    assert values["recovery_action_info", "42"] == 1
    assert values["reset_required",] == 1


def test_a_card_with_fans_and_thresholds(rig: Rig) -> None:
    with rig.machine(rig.scenario("rtx4090")) as machine:
        device = machine.identify(0)[0]
        reading = complete(machine.read(0)[0], frozenset())
    assert device.serial is None
    assert device.partition_mode is None
    assert reading.values["fan_speed_ratio", "0"] == 0.0
    assert reading.absent["interconnect_links",] is Absence.UNSUPPORTED
    assert reading.absent["compute_active_ratio",] is Absence.UNSUPPORTED


def test_pre_ampere_retires_pages(rig: Rig) -> None:
    with rig.machine(rig.scenario("t4")) as machine:
        values = machine.read(0)[0].values
    assert values["memory_retired_pages", "single_bit"] == 0
    assert values["temperature_limit_celsius", "gpu", "shutdown"] == 96
    assert ("memory_remapped_rows", "corrected") not in values


def test_what_hardly_changes_is_reused_until_requested(rig: Rig) -> None:
    with rig.machine(rig.devices(1)) as machine:
        (device,) = machine.identify(0)
        machine.backend.read(device, Request())
        machine.scenario.set(0, "power_limit_enforced_mw", 500000).set(0, "temperature_c", 70)
        machine.scenario.write()
        before = rig.library.standin_calls(b"nvmlDeviceGetEnforcedPowerLimit", 0)
        reused = machine.backend.read(device, Request(slow=False))[0].values
        assert rig.library.standin_calls(b"nvmlDeviceGetEnforcedPowerLimit", 0) == before
        fresh = machine.backend.read(device, Request(slow=True))[0].values
    assert reused["power_limit_watts", "enforced"] == 700
    assert reused["temperature_celsius", "gpu"] == 70
    assert fresh["power_limit_watts", "enforced"] == 500


def test_what_is_unsupported_is_queried_once(rig: Rig) -> None:
    with rig.machine(rig.devices(1).set(0, "temperature_margin_c", "none")) as machine:
        (device,) = machine.identify(0)
        names = (
            b"nvmlDeviceGetTemperatureThreshold",
            b"nvmlDeviceGetMarginTemperature",
            b"nvmlDeviceGetFanSpeed_v2",
            b"nvmlDeviceGetUtilizationRates",
        )
        before = [rig.library.standin_calls(name, 0) for name in names]
        for _ in range(3):
            machine.backend.read(device, Request())
        after = [rig.library.standin_calls(name, 0) for name in names]
    assert [new - old for new, old in zip(after, before, strict=True)] == [5, 1, 0, 3]


def test_unified_memory_is_the_hosts(rig: Rig) -> None:
    rig.tree.write(
        "proc/meminfo", "MemTotal:  125829120 kB\nMemFree: 1 kB\nMemAvailable: 25829120 kB\n"
    )
    scenario = rig.devices(1)
    for key in ("memory_total_bytes", "memory_used_bytes", "memory_reserved_bytes"):
        scenario.set(0, key, "none")
    with rig.machine(scenario) as machine:
        device = machine.identify(0)[0]
        reading = machine.read(0)[0]
    assert device.memory_kind is MemoryKind.SHARED
    assert reading.values["memory_size_bytes",] == 125829120 * 1024
    assert reading.values["memory_used_bytes",] == 100000000 * 1024
    assert reading.sources == {
        "*": "nvml",
        "memory_size_bytes": "meminfo",
        "memory_used_bytes": "meminfo",
    }


_RAILS = "sys/class/hwmon/hwmon2"
THOR = {
    "proc/device-tree/compatible": "nvidia,p3834-0008\0nvidia,tegra264\0",
    f"{_RAILS}/name": "ina3221",
    f"{_RAILS}/in1_label": "VDD_GPU",
    f"{_RAILS}/in1_input": "12000",
    f"{_RAILS}/curr1_input": "1500",
    f"{_RAILS}/in2_label": "VDD_CPU_SOC_MSS",
    f"{_RAILS}/in2_input": "12000",
    f"{_RAILS}/curr2_input": "-32",
}


@pytest.mark.parametrize(
    ("module", "shared", "measured", "power", "source"),
    [
        ("thor", True, "none", 18.0, "hwmon"),
        ("thor", True, 21000, 21.0, "nvml"),
        # A card in its slot, and a machine that is no Tegra.
        ("thor", False, 21000, 21.0, "nvml"),
        ("server", True, "none", None, "nvml"),
    ],
)
def test_supply_rails_of_a_thor_are_beside_nvml(
    rig: Rig, module: str, shared: bool, measured: str | int, power: float | None, source: str
) -> None:
    scenario = rig.devices(1)
    for key in ("power_usage_mw", "power_average_mw", "power_instant_mw"):
        scenario.set(0, key, measured)
    for path, text in THOR.items():
        if module == "thor" or path.startswith("sys/class"):
            rig.tree.write(path, text)
    for key in ("memory_total_bytes", "memory_used_bytes", "memory_reserved_bytes"):
        if shared:
            scenario.set(0, key, "none")
    with rig.machine(scenario) as machine:
        machine.identify(0)
        (reading,) = machine.read(0)
    values = reading.values
    assert values.get(("power_watts",)) == power
    assert reading.sources.get("power_watts", reading.sources["*"]) == source
    rails = {series[1] for series in values if series[0] == "power_component_watts"}
    assert ("vdd_gpu" in rails) is (module == "thor" and shared)
    assert ("voltage_volts", "vdd_gpu") in values or not rails
    if rails:
        assert reading.absent["power_component_watts", "vdd_cpu_soc_mss"] is Absence.ERROR


@pytest.mark.parametrize(
    ("key", "series"),
    [
        ("temperature_c", ("temperature_celsius", "gpu")),
        ("utilization_gpu_percent", ("utilization_ratio",)),
    ],
)
def test_a_value_that_cannot_be_true_is_an_error(
    rig: Rig, key: str, series: tuple[str, ...]
) -> None:
    with rig.machine(rig.devices(1).set(0, key, 4000)) as machine:
        reading = machine.read(0)[0]
    assert series not in reading.values
    assert Absence.ERROR in (reading.absent.get(series), reading.absent.get(series[:1]))
