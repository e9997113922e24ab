"""Broken, sleeping, denied and vanishing devices: what is told, and that nothing is invented."""

from pathlib import Path
from typing import Any

import pytest

from accelwatch.backend import Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DevicePermission, DeviceSuspended, ReadError
from accelwatch.schema.catalogue.lookup import opt_in_groups
from accelwatch.schema.event import Category

BOARD = "sys/devices/pci0000:00/0000:00:01.1/0000:05:00.0"
BUS = Path("sys/bus/pci/devices")
PCI = ("0000:05:00.0", "0000:26:00.0", "0000:46:00.0", "0000:c5:00.0")


def remove(machine: Any, bus_id: str) -> None:
    (machine.root / BUS / bus_id).unlink()


def test_every_device_is_a_row_however_broken(composed: Any) -> None:
    found = composed("mi300x-faulty").backend().discover()
    assert tuple(device.pci_bus_id for device in found) == PCI
    assert [device.name for device in found] == ["amd0", "amd1", "amd2", "amd3"]


def test_memory_errors_are_counted_and_repairs_reported(composed: Any) -> None:
    _, reading = composed("mi300x-faulty").first()
    assert reading.values["ecc_errors_total", "uncorrected"] == 3
    assert reading.values["ecc_errors_total", "deferred"] == 2
    assert reading.values["memory_retired_pages", "uncorrected"] == 1
    assert reading.values["memory_repair_pending",] == 1
    assert reading.values["memory_repair_failed",] == 1


def test_nonsense_in_files_becomes_no_value(composed: Any) -> None:
    machine = composed("mi300x-faulty")
    backend = machine.backend()
    device = backend.discover()[1]
    (full,) = backend.identify(device)
    assert (full.uuid, full.id) == (None, "amd:0000:26:00.0")
    assert (full.serial, full.absent["serial"]) == (None, Absence.ERROR)
    assert (full.partition_mode, full.model) == (None, "AMD Instinct MI300X")
    reading = backend.read(full, Request(groups=frozenset(opt_in_groups())))[0]
    # All that is left comes from the readable head of a cut gpu_metrics table.
    assert reading.values == {
        ("temperature_celsius", "junction"): 61,
        ("temperature_celsius", "memory"): 52,
        ("temperature_celsius", "vr"): 66,
        ("power_watts",): 612,
        ("utilization_ratio",): 0.97,
        ("memory_bandwidth_utilization_ratio",): 0.38,
        ("energy_joules_total", "hardware"): 10_000,
    }
    for key in ("memory_size_bytes", "memory_used_bytes", "ecc_errors_total", "ecc_enabled"):
        assert reading.absent[key,] is Absence.ERROR
    assert reading.absent["memory_retired_pages",] is Absence.ERROR
    assert reading.absent["power_limit_watts", "enforced"] is Absence.ERROR


def test_device_without_driver_is_listed_and_says_so(composed: Any) -> None:
    backend = composed("mi300x-faulty").backend()
    device = backend.discover()[2]
    with pytest.raises(ReadError, match="no driver") as caught:
        backend.read(device, Request())
    assert caught.value.code == "no_driver"


def test_sleeping_device_is_left_asleep(composed: Any) -> None:
    machine = composed("mi300x-faulty")
    backend = machine.backend()
    device = backend.discover()[3]
    machine.read_paths.clear()
    (known,) = backend.identify(device)
    with pytest.raises(DeviceSuspended):
        backend.read(known, Request())
    assert known.model == "AMD Radeon 7000 series (Navi 33)"
    assert known.absent["vbios_version"] is Absence.SUSPENDED
    touched = {path for path in machine.read_paths if "c5:00.0" in path}
    assert {path.rpartition("c5:00.0/")[2] for path in touched} == {"uevent"}


def test_discovery_of_a_sleeping_device_reads_nothing_that_wakes_it(composed: Any) -> None:
    machine = composed("mi300x-faulty")
    machine.backend().discover()
    touched = {path.rpartition("c5:00.0/")[2] for path in machine.read_paths if "c5:00.0/" in path}
    assert touched <= {"vendor", "uevent", "unique_id", "numa_node", "revision"}


def test_sleeping_device_is_read_when_that_is_wanted(composed: Any) -> None:
    machine = composed("mi300x-faulty")
    machine.wake_suspended = True
    backend = machine.backend()
    device = backend.discover()[3]
    assert backend.read(device, Request())[0].values["utilization_ratio",] == 0


def test_device_off_the_bus_is_lost(composed: Any) -> None:
    machine = composed("mi300x-x2")
    backend = machine.backend()
    devices = machine.devices(backend)
    remove(machine, "0000:05:00.0")
    with pytest.raises(DeviceLost):
        backend.read(devices[0], Request())
    with pytest.raises(DeviceLost):
        backend.identify(devices[0])
    assert backend.read(devices[1], Request())[0].values


def test_device_that_comes_back_keeps_its_index(composed: Any) -> None:
    machine = composed("mi300x-x2")
    backend = machine.backend()
    before = backend.discover()
    remove(machine, "0000:05:00.0")
    assert [device.name for device in backend.discover()] == ["amd1"]
    machine.tree.link("sys/bus/pci/devices/0000:05:00.0", BOARD)
    assert backend.discover() == before


def test_device_that_goes_away_during_the_read_is_lost(composed: Any) -> None:
    machine = composed("mi300x-x2")
    backend = machine.backend()
    device = machine.devices(backend)[0]
    machine.then_remove("0000:05:00.0/mem_info_vram_used", BUS / "0000:05:00.0")
    with pytest.raises(DeviceLost, match="went away"):
        backend.read(device, Request())


def test_device_whose_files_all_answer_no_such_device_is_lost(composed: Any) -> None:
    machine = composed("mi300x-x2")
    backend = machine.backend()
    device = machine.devices(backend)[0]
    machine.failures = everything_fails(machine, Absence.LOST)
    with pytest.raises(DeviceLost):
        backend.read(device, Request())


def test_device_whose_files_are_all_denied_is_a_permission_error(composed: Any) -> None:
    machine = composed("mi300x-x2")
    backend = machine.backend()
    device = machine.devices(backend)[0]
    machine.failures = everything_fails(machine, Absence.PERMISSION)
    with pytest.raises(DevicePermission):
        backend.read(device, Request())


def everything_fails(machine: Any, reason: Absence) -> dict[str, Absence]:
    folder = machine.root / BOARD
    kept = ("uevent", "runtime_status")
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in kept]
    return {f"0000:05:00.0/{path.relative_to(folder)}": reason for path in files}


@pytest.mark.parametrize("reason", [Absence.PERMISSION, Absence.ERROR, Absence.TIMEOUT])
def test_one_unreadable_file_costs_one_quantity(composed: Any, reason: Absence) -> None:
    machine = composed("mi300x-x2")
    machine.failures = {
        "0000:05:00.0/mem_info_vram_used": reason,
        "0000:05:00.0/hwmon/hwmon3/temp3_input": reason,
        "0000:05:00.0/ras/gpu_vram_bad_pages": reason,
    }
    device, reading = machine.first()
    assert reading.absent["memory_used_bytes",] is reason
    assert reading.absent["memory_retired_pages",] is reason
    assert reading.values["temperature_celsius", "memory"] == 52
    assert reading.values["utilization_ratio",] == 0.97
    assert device.uuid


def test_unreadable_block_makes_the_error_sum_absent_not_small(composed: Any) -> None:
    machine = composed("mi300x-x2")
    machine.failures = {"ras/umc_err_count": Absence.PERMISSION}
    _, reading = machine.first()
    assert reading.absent["ecc_errors_total",] is Absence.PERMISSION
    assert ("ecc_errors_total", "corrected") not in reading.values
    assert reading.values["ecc_location_errors_total", "corrected", "xgmi_wafl"] == 1


@pytest.mark.parametrize("reason", [Absence.PERMISSION, Absence.ERROR])
@pytest.mark.parametrize("name", ["class", "vendor"])
def test_unreadable_port_above_makes_no_false_link(
    composed: Any, name: str, reason: Absence
) -> None:
    """The board's inner link is always fast and wide; nobody may take it for the slot's."""
    machine = composed("rx7900")
    machine.failures = {f"0000:02:00.0/{name}": reason}
    _, reading = machine.first()
    assert not any(series[0].startswith("pcie_link_") for series in reading.values)
    assert reading.absent["pcie_link_generation",] is reason
    assert reading.absent["pcie_link_width_lanes",] is reason


@pytest.mark.parametrize(("lanes", "reason"), [("63", Absence.ERROR), ("0", None)])
def test_a_board_that_has_left_the_bus_is_distinguished_from_one_without_a_link(
    composed: Any, lanes: str, reason: Absence | None
) -> None:
    machine = composed("mi300x-x2")
    (machine.root / BOARD / "current_link_speed").write_text("Unknown\n")
    (machine.root / BOARD / "current_link_width").write_text(f"{lanes}\n")
    _, reading = machine.first()
    assert reading.absent.get(("pcie_link_generation", "current")) is reason
    assert reading.absent.get(("pcie_link_width_lanes", "current")) is reason
    assert ("pcie_link_generation", "current") not in reading.values


def test_empty_files_everywhere_invent_nothing(composed: Any) -> None:
    machine = composed("mi300x-x2")
    for path in (machine.root / BOARD).rglob("*"):
        if path.is_file() and path.name not in ("uevent", "vendor", "name"):
            path.write_bytes(b"")
    device, reading = machine.first()
    assert device.id == "amd:0000:05:00.0"
    # An empty list of bad pages is one without any; waves are the compute driver's to tell.
    assert reading.values == {
        ("memory_retired_pages", "uncorrected"): 0,
        ("memory_repair_pending",): 0,
        ("memory_repair_failed",): 0,
        ("compute_occupancy_ratio",): 0.75,
    }
    assert reading.absent["utilization_ratio",] is Absence.ERROR


def test_growing_error_counts_are_events(composed: Any) -> None:
    machine = composed("mi300x-faulty")
    backend = machine.backend()
    device = machine.devices(backend)[0]
    backend.read(device, Request())
    assert list(backend.wait_events(0)) == []
    machine.tree.write(f"{BOARD}/ras/umc_err_count", "ue: 5\nce: 90\nde: 3\n")
    machine.tree.write(f"{BOARD}/ras/xgmi_wafl_err_count", "ue: 1\nce: 1\nde: 0\n")
    backend.read(device, Request())
    events = {(event.code, event.category): event for event in backend.wait_events(0)}
    assert set(events) == {
        ("ras_umc", Category.MEMORY_FATAL),
        ("ras_umc", Category.MEMORY_CONTAINED),
        ("ras_xgmi_wafl", Category.MEMORY_FATAL),
    }
    fatal = events["ras_umc", Category.MEMORY_FATAL]
    assert fatal.detail == {"block": "umc", "severity": "uncorrected", "count": "2"}
    assert fatal.device_id == device.id
    assert fatal.time == machine.clock.wall()
    assert list(backend.wait_events(0)) == []


def test_counts_that_fall_after_a_driver_reload_are_no_events(composed: Any) -> None:
    machine = composed("mi300x-faulty")
    backend = machine.backend()
    device = machine.devices(backend)[0]
    backend.read(device, Request())
    machine.tree.write(f"{BOARD}/ras/umc_err_count", "ue: 0\nce: 0\nde: 0\n")
    backend.read(device, Request())
    assert list(backend.wait_events(0)) == []


def test_machine_without_an_amd_gpu(machine: Any) -> None:
    backend = machine.backend()
    assert not backend.probe().present
    assert list(backend.discover()) == []
    with pytest.raises(BackendUnavailable) as caught:
        backend.open()
    assert caught.value.reason == "no_device"


def test_probe_names_the_driverless_device(composed: Any) -> None:
    probe = composed("mi300x-faulty").backend().probe()
    assert probe.present
    failing = [check for check in probe.checks if not check.ok]
    assert [check.subject for check in failing] == ["driver of 0000:46:00.0"]
    assert "modprobe amdgpu" in failing[0].remedy


def test_device_given_to_a_virtual_machine_is_not_ours(composed: Any) -> None:
    machine = composed("mi300x-x2")
    machine.tree.write(f"{BOARD}/uevent", "DRIVER=vfio-pci\nPCI_CLASS=120000\nPCI_ID=1002:74A1\n")
    assert [device.pci_bus_id for device in machine.backend().discover()] == ["0000:26:00.0"]


def test_close_may_be_called_twice(composed: Any) -> None:
    backend = composed("rx7900").backend()
    opened = backend.open()
    assert (opened.source, dict(opened.versions)) == ("sysfs", {"driver": "6.14.0-composed"})
    backend.close()
    backend.close()
