"""Sysman through a stand-in loader: identity and values as the real ctypes layer gives them."""

import pytest

from accelwatch.backend import Request
from accelwatch.base.absence import Absence
from accelwatch.schema.device import MemoryKind
from accelwatch.schema.reading import Link, Reading
from support.machines.intel_machines import Machine, opened
from support.machines.level_zero import Scenario

GIB = 1 << 30


def test_identity_of_a_two_tile_card(max1550: Machine) -> None:
    card, first, second = opened(max1550).devices()
    assert card.uuid == "00000000-0000-004b-0000-002f0bd58086"
    assert card.serial is None, "the driver says unknown"
    assert card.part_number == "FIXTURE0001"
    assert card.driver_version == "1.6.31294"
    assert card.memory_kind is MemoryKind.DEDICATED
    assert [tile.partition for tile in (first, second)] == ["tile0", "tile1"]
    assert {tile.parent_id for tile in (first, second)} == {card.id}
    assert {tile.partition_technology for tile in (first, second)} == {"tile"}


def test_values_of_a_two_tile_card(max1550: Machine) -> None:
    card, first, second = opened(max1550).read()
    expected = {
        ("memory_size_bytes",): 128 * GIB,
        ("memory_used_bytes",): 8 * GIB,
        ("temperature_celsius", "gpu"): 61.5,
        ("temperature_celsius", "memory"): 66,
        ("temperature_limit_celsius", "gpu", "max_operating"): 105,
        ("clock_hertz", "graphics"): 1_600_000_000,
        ("clock_hertz", "memory"): 3_200_000_000,
        ("power_limit_watts", "enforced"): 600,
        ("power_limit_watts", "default"): 600,
        ("power_limit_watts", "max"): 600,
        ("throttle_active", "power"): 1,
        ("throttle_active", "power_brake"): 0,
        ("ecc_enabled",): 1,
        ("ecc_errors_total", "corrected"): 8,
        ("ecc_errors_total", "uncorrected"): 0,
        ("ecc_location_errors_total", "corrected", "cache"): 7,
        ("ecc_location_errors_total", "corrected", "compute"): 1,
        ("resets_total",): 2,
        ("reset_required",): 0,
        ("recovery_action_info", "none"): 1,
        ("pcie_bytes_total", "receive"): 1_000_000,
        ("pcie_bytes_total", "transmit"): 2_000_000,
        ("pcie_errors_total", "replay"): 4,
        ("interconnect_links", "xelink", "up"): 1,
        ("interconnect_links", "xelink", "down"): 1,
        ("interconnect_bytes_total", "xelink", "receive"): 111,
        ("interconnect_bytes_total", "xelink", "transmit"): 222,
        ("link_up", "xelink", "1"): 0,
        ("interconnect_errors_total", "xelink", "link_failure"): 6,
        ("link_errors_total", "xelink", "1", "link_degrade"): 1,
    }
    assert {series: card.values[series] for series in expected} == expected
    assert card.links == (
        Link(fabric="xelink", link="0", remote="3c4d/0.5", up=True),
        Link(fabric="xelink", link="1", remote=None, up=False),
    )
    assert card.sources["memory_used_bytes"] == "sysman"
    assert first.values["memory_used_bytes",] == 8 * GIB
    assert second.values["memory_used_bytes",] == 0, "a real 0"
    assert second.values["throttle_active", "power"] == 1
    assert second.values["temperature_celsius", "gpu"] == 58
    assert ("clock_hertz", "memory") not in second.values, "-1 is unknown"
    assert ("min",) not in {
        series[1:] for series in card.values if series[0] == "power_limit_watts"
    }


def test_ratios_need_two_readings(max1550: Machine, scenario: Scenario) -> None:
    opened(max1550)
    card, *_ = max1550.read()
    for key in ("utilization_ratio", "memory_bandwidth_utilization_ratio"):
        assert card.absent[key,] is Absence.NOT_COLLECTED
    scenario.set(
        dev__0__engine__0__active=5_500_000,
        dev__0__engine__0__timestamp=11_000_000,
        dev__0__engine__1__active=6_000_000,
        dev__0__engine__1__timestamp=11_000_000,
        dev__0__engine__2__timestamp=11_000_000,
        dev__0__memory__0__read=401_000_000_000,
        dev__0__memory__0__timestamp=2_000_000,
        dev__0__power__1__energy=400_700_000_000,
        dev__0__power__1__timestamp=7_000_000,
    )
    max1550.clock.advance(1)
    card, first, second = max1550.read()
    assert card.values["utilization_ratio",] == pytest.approx(0.5)
    assert card.sources["utilization_ratio"] == "sysman"
    assert first.values["utilization_ratio",] == pytest.approx(1.0)
    assert second.values["utilization_ratio",] == 0
    assert card.values["memory_bandwidth_utilization_ratio",] == pytest.approx(0.25)
    assert first.values["power_watts",] == pytest.approx(350.0)
    assert not any(series[0] == "engine_utilization_ratio" for series in card.values), "0, 0"


def test_timestamps_that_stand_still_give_no_ratio(max1550: Machine) -> None:
    opened(max1550)
    max1550.read()
    max1550.clock.advance(1)
    card, *_ = max1550.read()
    assert ("utilization_ratio",) not in card.values or card.sources[
        "utilization_ratio"
    ] == "gtidle"
    assert ("memory_bandwidth_utilization_ratio",) not in card.values


def test_host_memory_is_not_device_memory_and_processes_are_joined(b580: Machine) -> None:
    (card,) = opened(b580).read()
    assert card.values["memory_size_bytes",] == 12784238592
    assert card.values["memory_used_bytes",] == 12784238592 - 2684354560
    found = {process.pid: process for process in card.processes or ()}
    assert set(found) == {1500, 4100, 88001}
    assert found[4100].gpu_memory_bytes == 9_437_184 * 1024, "fdinfo goes first"
    assert found[88001].gpu_memory_bytes == 1 << 20
    assert found[88001].pid_namespace == "foreign"
    assert found[88001].type == "compute+graphics"


def test_memory_errors_are_counted_by_the_newer_call(max1550: Machine, scenario: Scenario) -> None:
    opened(max1550)
    scenario.set(dev__0__ras__1__7=3)
    card, first, _ = max1550.read()
    assert card.values["ecc_errors_total", "uncorrected"] == 3
    assert card.values["ecc_location_errors_total", "uncorrected", "memory"] == 3
    assert first.values["ecc_errors_total", "uncorrected"] == 3


def readings_of(machine: Machine) -> list[Reading]:
    backend = machine.backend()
    return [
        reading
        for device in backend.discover()
        for reading in backend.read(device, Request(processes=False))
    ]


def test_without_processes_there_are_none(b580: Machine) -> None:
    (card,) = readings_of(opened(b580))
    assert card.processes is None
    assert card.absent["processes",] is Absence.NOT_COLLECTED
