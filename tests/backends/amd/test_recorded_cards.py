"""Recorded /sys trees of real cards: every value expected here was read by eye from the recording."""

from typing import Any

import pytest

from accelwatch.base.absence import Absence
from accelwatch.schema.device import MemoryKind
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from support.machines.polling import assert_all_believed

pytestmark = pytest.mark.oracle

Expected = dict[Series, Number]


CARDS: dict[str, Expected] = {
    "hd7870": {
        ("temperature_celsius", "gpu"): 27,
        ("temperature_limit_celsius", "gpu", "slowdown"): 120,
        ("fan_speed_ratio", "0"): 51 / 255,
        ("clock_hertz", "graphics"): 300_000_000,
        ("pcie_link_generation", "current"): 3,
        ("pcie_link_width_lanes", "current"): 1,
    },
    "procfs_fixture_card0": {
        ("utilization_ratio",): 0.04,
        ("memory_size_bytes",): 8_573_157_376,
        ("memory_used_bytes",): 1_490_378_752,
        ("memory_pool_used_bytes", "gtt"): 144_560_128,
        ("clock_hertz", "graphics"): 852_000_000,
        ("clock_hertz", "memory"): 167_000_000,
        ("clock_hertz", "soc"): 720_000_000,
        ("clock_limit_hertz", "graphics", "max"): 1_630_000_000,
        ("clock_limit_hertz", "memory", "max"): 945_000_000,
        ("pcie_link_generation", "max"): 3,
        ("pcie_link_width_lanes", "max"): 16,
        ("pcie_errors_total", "replay"): 0,
        ("pcie_errors_total", "fatal"): 0,
    },
    "r7-240": {
        ("memory_size_bytes",): 2_147_483_648,
        ("memory_used_bytes",): 495_321_088,
        ("memory_pool_size_bytes", "visible"): 268_435_456,
        ("temperature_celsius", "gpu"): 52,
        ("fan_speed_ratio", "0"): 103 / 255,
        ("clock_hertz", "graphics"): 400_000_000,
        ("clock_hertz", "memory"): 1_150_000_000,
        ("pcie_link_generation", "current"): 2,
        ("pcie_link_generation", "max"): 3,
        ("pcie_link_width_lanes", "current"): 4,
        ("pcie_link_width_lanes", "max"): 8,
    },
    "r9-280": {
        ("temperature_celsius", "gpu"): 37,
        ("fan_speed_ratio", "0"): 139 / 255,
        ("clock_hertz", "graphics"): 300_000_000,
        ("clock_hertz", "memory"): 150_000_000,
    },
    "rx580": {
        ("utilization_ratio",): 0.11,
        ("memory_controller_utilization_ratio",): 0.02,
        ("memory_size_bytes",): 4_294_967_296,
        ("memory_used_bytes",): 536_870_912,
        ("power_watts",): 41.045,
        ("power_limit_watts", "enforced"): 155,
        ("power_limit_watts", "max"): 201,
        ("temperature_celsius", "gpu"): 44,
        ("temperature_limit_celsius", "gpu", "slowdown"): 94,
        ("fan_speed_rpm", "0"): 595,
        ("fan_speed_ratio", "0"): 35 / 255,
        ("clock_hertz", "graphics"): 798_080_000,
        ("clock_limit_hertz", "graphics", "max"): 1_366_000_000,
        ("voltage_volts", "graphics"): 0.975,
        ("pcie_errors_total", "replay"): 3,
    },
    "rx5500xt": {
        ("power_watts",): 16,
        ("power_limit_watts", "min"): 65,
        ("temperature_celsius", "junction"): 48,
        ("temperature_limit_celsius", "junction", "shutdown"): 110,
        ("clock_hertz", "graphics"): 31_000_000,
        ("clock_limit_hertz", "graphics", "max"): 1_900_000_000,
        ("fan_speed_rpm", "0"): 0,
    },
    "rx5700xt": {
        ("power_watts",): 29,
        ("temperature_celsius", "gpu"): 58,
        ("temperature_celsius", "memory"): 62,
        ("clock_hertz", "memory"): 875_000_000,
        ("clock_limit_hertz", "graphics", "min"): 300_000_000,
        ("voltage_volts", "graphics"): 1.1,
        ("fan_speed_rpm", "0"): 29,
        ("fan_speed_ratio", "0"): 65 / 255,
    },
    "rx6600": {
        ("power_watts",): 3,
        ("power_limit_watts", "enforced"): 120,
        ("power_limit_watts", "default"): 100,
        ("temperature_celsius", "memory"): 26,
        ("clock_hertz", "graphics"): 20_000_000,
        ("clock_limit_hertz", "graphics", "max"): 2_700_000_000,
        ("fan_speed_rpm", "0"): 1395,
    },
    "rx6900xt": {
        ("utilization_ratio",): 0.03,
        ("memory_controller_utilization_ratio",): 0,
        ("memory_size_bytes",): 17_163_091_968,
        ("memory_used_bytes",): 668_274_688,
        ("power_watts",): 36,
        ("power_limit_watts", "max"): 332,
        ("temperature_celsius", "gpu"): 56,
        ("temperature_celsius", "junction"): 59,
        ("temperature_celsius", "memory"): 54,
        ("temperature_celsius", "vr"): 49,
        ("clock_hertz", "graphics"): 500_000_000,
        ("clock_hertz", "memory"): 1_000_000_000,
        ("clock_hertz", "fabric"): 1_302_000_000,
        ("clock_limit_hertz", "graphics", "max"): 2_660_000_000,
        ("voltage_volts", "graphics"): 0.775,
        ("voltage_volts", "soc"): 0.818,
        ("pcie_link_generation", "current"): 4,
        ("throttle_active", "power"): 0,
        ("throttle_active", "thermal_software"): 0,
    },
    "rx7600s": {
        ("power_watts",): 1,
        ("temperature_celsius", "junction"): 54,
        ("clock_hertz", "graphics"): 0,
        ("voltage_volts", "graphics"): 0,
        ("fan_speed_ratio", "0"): 0,
        ("throttle_active", "power"): 0,
        ("throttle_active", "thermal_software"): 1,
        ("pcie_link_width_lanes", "current"): 8,
    },
    "rx7700s": {
        ("power_watts",): 1,
        ("power_limit_watts", "min"): 100,
        ("temperature_celsius", "memory"): 42,
        ("clock_hertz", "graphics"): 0,
        ("clock_hertz", "soc"): 492_000_000,
        ("voltage_volts", "graphics"): 0.018,
    },
    "rx7800xt": {
        ("utilization_ratio",): 0.02,
        ("power_watts",): 32,
        ("temperature_celsius", "gpu"): 24,
        ("temperature_celsius", "memory"): 48,
        ("clock_hertz", "graphics"): 2_011_000_000,
        ("clock_hertz", "soc"): 750_000_000,
        ("clock_limit_hertz", "graphics", "min"): 500_000_000,
        ("clock_limit_hertz", "graphics", "max"): 2_254_000_000,
        ("fan_speed_rpm", "0"): 868,
        ("voltage_volts", "graphics"): 0.985,
    },
    "rx9070": {
        ("utilization_ratio",): 0.25,
        ("power_watts",): 49,
        ("temperature_celsius", "memory"): 72,
        ("clock_hertz", "graphics"): 900_000_000,
        ("clock_limit_hertz", "graphics", "max"): 2_070_000_000,
        ("clock_limit_hertz", "memory", "max"): 1_258_000_000,
        ("fan_speed_rpm", "0"): 1944,
        ("pcie_link_generation", "current"): 5,
    },
    "rx9070xt": {
        ("utilization_ratio",): 0.03,
        ("power_watts",): 55,
        ("power_limit_watts", "enforced"): 120,
        ("temperature_celsius", "junction"): 45,
        ("clock_hertz", "graphics"): 167_000_000,
        ("clock_limit_hertz", "graphics", "min"): 615_000_000,
        ("clock_hertz", "soc"): 1_280_000_000,
        ("fan_speed_ratio", "0"): 81 / 255,
    },
    "strixpoint": {
        ("utilization_ratio",): 0.03,
        ("engine_utilization_ratio", "vcn"): 0,
        ("memory_size_bytes",): 536_870_912,
        ("memory_pool_size_bytes", "gtt"): 16_441_004_032,
        ("power_watts",): 9.087,
        ("power_component_watts", "compute"): 1.536,
        ("power_component_watts", "cpu"): 2.499,
        ("power_component_watts", "npu"): 0,
        ("temperature_celsius", "gpu"): 38,
        ("temperature_celsius", "soc"): 40.62,
        ("clock_hertz", "graphics"): 848_000_000,
        ("clock_hertz", "video"): 800_000_000,
        ("clock_hertz", "memory"): 836_000_000,
    },
    "vangogh": {
        ("power_watts",): 3.218,
        ("power_limit_watts", "enforced"): 15,
        ("power_limit_watts", "max"): 29,
        ("temperature_celsius", "gpu"): 56,
        ("clock_hertz", "graphics"): 200_000_000,
        ("clock_hertz", "memory"): 687_000_000,
        ("voltage_volts", "graphics"): 0.015,
        ("voltage_volts", "soc"): 0.669,
    },
}

# Series without a value, with the reason in `absent`; None: nothing is said, so `unsupported`.
MISSING: dict[str, dict[Series, Absence | None]] = {
    "hd7870": {("power_watts",): None, ("utilization_ratio",): None},
    "r7-240": {("power_watts",): None, ("utilization_ratio",): None},
    "r9-280": {("power_watts",): None, ("memory_size_bytes",): None},
    "rx5500xt": {("temperature_celsius", "memory"): Absence.ERROR},
    "rx6600": {("fan_speed_ratio", "0"): Absence.ERROR},
    "rx6900xt": {
        ("energy_joules_total", "hardware"): None,
        ("clock_limit_hertz", "video", "max"): None,
    },
    "rx7600s": {("temperature_celsius", "vr"): None},
    "rx7800xt": {("energy_joules_total", "hardware"): None},
    "rx9070": {("clock_limit_hertz", "graphics", "min"): None},
    "strixpoint": {
        ("voltage_volts", "graphics"): Absence.ERROR,
        ("voltage_volts", "soc"): Absence.ERROR,
        ("throttle_active", "power"): Absence.NOT_COLLECTED,
        ("clock_hertz", "display"): None,
    },
}

IDENTITIES: dict[str, dict[str, object]] = {
    "hd7870": {"id": "amd:0000:01:00.0", "architecture": None, "uuid": None},
    "procfs_fixture_card0": {
        "id": "amd:GPU-0123456789abcdef",
        "uuid": "GPU-0123456789abcdef",
        "vbios_version": "115-D050PIL-100",
        "architecture": "gfx900/GCN5",
        "serial": None,
        "pci_bus_id": "0000:09:00.0",
    },
    "r9-280": {"vbios_version": None},
    "rx6900xt": {
        "id": "amd:GPU-946d7e1ef9b172dd",
        "model": "AMD Radeon RX 6900 XT",
        "architecture": "gfx1030/RDNA2",
        "firmware_version": "0x003a5600",
        "vbios_version": "113-D4121EXT-CO1",
        "device_nodes": ("/dev/dri/card0",),
        "memory_kind": MemoryKind.DEDICATED,
    },
    "strixpoint": {
        "architecture": "gfx1150/RDNA3.5",
        "memory_kind": MemoryKind.SHARED,
        "pci_bus_id": "0000:c1:00.0",
        "firmware_version": "0x0b5d0400",
        "numa_node": None,
    },
    "rx580": {"model": "AMD Radeon RX 580"},
    "rx6600": {"model": "AMD Radeon RX 6000 series (Navi 23)"},  # recorded without its revision
    "rx7700s": {"model": "AMD Radeon 7000 series (Navi 33)"},
    "rx9070xt": {"model": "AMD Radeon RX 9000 series (Navi 48)"},
    "vangogh": {"architecture": "gfx1033/RDNA2", "memory_kind": MemoryKind.SHARED},
}


@pytest.mark.parametrize("name", CARDS)
def test_values_of_a_recorded_card(card: Any, name: str) -> None:
    _, reading = card(name).first()
    found = {series: reading.values.get(series) for series in CARDS[name]}
    assert found == pytest.approx(CARDS[name])


@pytest.mark.parametrize("name", CARDS)
def test_every_number_of_a_recorded_card_is_believed(card: Any, name: str) -> None:
    device, reading = card(name).first()
    assert_all_believed((device,), (reading,))


@pytest.mark.parametrize("name", MISSING)
def test_what_a_recorded_card_does_not_report(card: Any, name: str) -> None:
    _, reading = card(name).first()
    for series, reason in MISSING[name].items():
        assert series not in reading.values
        assert reading.absent.get(series) is reason


@pytest.mark.parametrize("name", IDENTITIES)
def test_identity_of_a_recorded_card(card: Any, name: str) -> None:
    device, _ = card(name).first()
    found = {field: getattr(device, field) for field in IDENTITIES[name]}
    assert found == IDENTITIES[name]
