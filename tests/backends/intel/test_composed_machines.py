"""Composed machines: values over time, processes, tiles, an NPU, and files that hold nonsense."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from accelwatch import sysfs
from accelwatch.backend import Request
from accelwatch.errors import DeviceLost, DevicePermission, DeviceSuspended, ReadError
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import DeviceKind, MemoryKind
from accelwatch.schema.reading import complete
from intel_machines import Machine

Composed = Callable[[str], Machine]
Fail = Callable[[str, Absence], None]
B580 = "0000:03:00.0"
KIB, MIB = 1 << 10, 1 << 20


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


def test_processes_and_memory_from_fdinfo(composed: Composed) -> None:
    machine = composed("arc-b580")
    backend = machine.backend()
    request = Request(argv=True)
    (reading,) = backend.read(backend.discover()[0], request)
    assert reading.processes is not None
    shell, server = reading.processes
    assert (shell.pid, shell.command, shell.type) == (1500, "gnome-shell", "graphics")
    assert (server.pid, server.command, server.type) == (4100, "llama-server", "compute")
    assert server.argv == ("llama-server", "--gpu-layers", "99")
    assert server.gpu_memory_bytes == 9_437_184 * KIB
    assert server.host_memory_bytes == 200 * MIB
    assert server.start_time == 1799990000 + 410
    assert shell.gpu_memory_bytes == 262_144 * KIB
    assert reading.values["memory_used_bytes",] == (9_437_184 + 262_144 - 65_536) * KIB
    assert reading.sources["memory_used_bytes"] == "fdinfo"
    assert server.absent == {"utilization_ratio": Absence.NOT_COLLECTED}


def test_busy_ratios_from_fdinfo_cycles(composed: Composed) -> None:
    machine = composed("arc-b580")
    machine.read()
    path = machine.root / "proc/4100/fdinfo/3"
    text = path.read_text()
    later = text.replace("cycles-ccs:\t4100000000", "cycles-ccs:\t4900000000")
    later = later.replace("\t9000000000", "\t10000000000")
    path.write_text(later)
    machine.clock.advance(1.0)
    (reading,) = machine.read()
    assert reading.values["engine_utilization_ratio", "compute"] == pytest.approx(0.8)
    assert reading.values["engine_utilization_ratio", "copy"] == 0
    assert reading.values["utilization_ratio",] == pytest.approx(0.8)
    assert reading.sources["utilization_ratio"] == "fdinfo"
    server = next(process for process in reading.processes or () if process.pid == 4100)
    assert server.utilization_ratio == pytest.approx(0.8)
    assert server.absent == {}


def test_other_pid_namespaces_make_sums_unknown(composed: Composed) -> None:
    machine = composed("arc-b580")
    machine.link("proc/self/ns/pid", "/pid:[4026532999]")
    machine.read()
    machine.clock.advance(1.0)
    (reading,) = machine.read()
    assert reading.absent["memory_used_bytes",] is Absence.PERMISSION
    assert "processes of other pid namespaces are not visible" in reading.notes
    assert reading.sources["utilization_ratio"] == "gtidle"


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
    assert gpu.model == "Intel Arc Graphics (Meteor Lake)"
    assert (npu.kind, npu.memory_kind) == (DeviceKind.NPU, MemoryKind.SHARED)
    assert npu.model == "Intel NPU (Meteor Lake)"
    assert npu.name == "intel1"
    machine.read()
    path = machine.root / "proc/2100/fdinfo/3"
    path.write_text(path.read_text().replace("5000000000 ns", "5250000000 ns"))
    machine.clock.advance(1.0)
    (reading,) = machine.read()
    assert reading.values["memory_used_bytes",] == (409600 + 204800 - 2 * 102400) * KIB
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


def test_nonsense_in_files_is_an_error_and_no_value(composed: Composed) -> None:
    machine = composed("arc-a770-faulty")
    (reading,) = machine.read()
    assert reading.values == {
        ("clock_hertz", "graphics"): 300_000_000,
        ("clock_limit_hertz", "graphics", "max"): 2_400_000_000,
        ("throttle_active", "power"): 1,
        ("throttle_active", "thermal_hardware"): 1,
        ("temperature_celsius", "memory"): 104,
        ("temperature_limit_celsius", "memory", "slowdown"): 105,
        ("fan_speed_rpm", "0"): 0,
        ("pcie_errors_total", "nonfatal"): 41,
        ("memory_used_bytes",): 4 * MIB,
    }
    for series in (
        ("clock_limit_hertz", "graphics", "min"),
        ("temperature_celsius", "gpu"),
        ("energy_joules_total", "hardware"),
        ("power_watts",),
        ("utilization_ratio",),
    ):
        assert reading.absent[series] is Absence.ERROR
    assert reading.notes == ("the driver holds a device core dump of a hang (devcoredump)",)


def test_a_sleeping_card_is_left_asleep(composed: Composed) -> None:
    machine = composed("arc-a770-faulty")
    sleeper = machine.backend().discover()[1]
    assert sleeper.pci_bus_id == "0000:08:00.0"
    (known,) = machine.backend().identify(sleeper)
    assert known.model == "Intel Arc A380 Graphics"
    assert known.absent["uuid"] is Absence.SUSPENDED
    with pytest.raises(DeviceSuspended):
        machine.read(1)


def test_a_sleeping_card_is_only_asked_whether_it_sleeps(
    composed: Composed, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = composed("arc-a770-faulty")
    machine.device_file("0000:08:00.0", "config").write_bytes(b"\xff" * 64)
    device = machine.backend().discover()[1]
    asked: set[str] = set()
    really = sysfs.read_bytes

    def read_bytes(path: Path) -> bytes | Absence:
        asked.add(str(path).rpartition("0000:08:00.0/")[2])
        return really(path)

    monkeypatch.setattr(sysfs, "read_bytes", read_bytes)
    machine.backend().identify(device)
    with pytest.raises(DeviceSuspended):
        machine.backend().read(device, Request())
    assert asked == {"power/runtime_status"}


def test_a_sleeping_npu_answers_without_waking(composed: Composed) -> None:
    machine = composed("laptop-meteor-lake")
    machine.device_file("0000:00:0b.0", "power/runtime_status").write_text("suspended\n")
    machine.device_file("0000:00:0b.0", "npu_current_frequency_mhz").write_text("0\n")
    machine.read(1)
    machine.clock.advance(1.0)
    (reading,) = machine.read(1)
    assert reading.values["clock_hertz", "npu"] == 0
    assert reading.values["utilization_ratio",] == 0


def test_memory_size_of_a_packaged_i915(composed: Composed) -> None:
    machine = composed("arc-a770-faulty")
    machine.device_file("0000:08:00.0", "power/runtime_status").write_text("active\n")
    machine.device_file("0000:08:00.0", "drm/card1/lmem_total_bytes").write_text("6425673728\n")
    assert machine.read(1)[0].values["memory_size_bytes",] == 6425673728


def test_a_sleeping_card_may_be_woken_on_request(composed: Composed) -> None:
    machine = composed("arc-a770-faulty")
    machine.wake_suspended = True
    (reading,) = machine.read(1)
    assert reading.device_id == "intel:0000:08:00.0"


def test_a_card_of_a_virtual_machine_is_not_ours(composed: Composed) -> None:
    machine = composed("arc-a770-faulty")
    with pytest.raises(DevicePermission, match="vfio-pci"):
        machine.read(2)
    check = machine.backend().probe().checks[2]
    assert (check.ok, check.remedy) == (False, "give it back from vfio-pci")


def test_a_card_without_a_driver_says_what_to_load(composed: Composed) -> None:
    machine = composed("arc-b580")
    machine.device_file(B580, "driver").unlink()
    with pytest.raises(ReadError, match="load xe or i915"):
        machine.read()


def test_a_card_that_left_the_bus_is_lost(composed: Composed) -> None:
    machine = composed("arc-b580")
    (device,) = machine.backend().discover()
    machine.read()
    machine.device_file(B580, "config").write_bytes(b"\xff" * 64)
    with pytest.raises(DeviceLost):
        machine.backend().read(device, Request())
    machine.device_file(B580, "config").write_bytes(b"\x86\x80\x0b\xe2" + b"\0" * 60)
    assert machine.backend().read(device, Request())[0].values, "and it may come back"
    (machine.root / f"sys/bus/pci/devices/{B580}").unlink()
    with pytest.raises(DeviceLost):
        machine.backend().read(device, Request())
    with pytest.raises(DeviceLost):
        machine.backend().identify(device)


@pytest.mark.parametrize("reason", list(Absence))
def test_an_unreadable_file_gives_its_reason(
    composed: Composed, fail: Fail, reason: Absence
) -> None:
    fail("temp2_input", reason)
    fail("act_freq", reason)
    fail("energy1_input", reason)
    (reading,) = composed("arc-b580").read()
    assert reading.absent["temperature_celsius", "gpu"] is reason
    assert reading.absent["clock_hertz", "graphics"] is reason
    assert reading.absent["power_watts",] is reason
    assert reading.values["temperature_celsius", "memory"] == 72


def test_an_energy_counter_that_stands_still_is_no_power(composed: Composed) -> None:
    machine = composed("arc-b580")
    machine.read()
    machine.clock.advance(1.0)
    (reading,) = machine.read()
    assert reading.absent["power_watts",] is Absence.ERROR


def test_an_energy_counter_that_was_reset_starts_anew(composed: Composed) -> None:
    machine = composed("arc-b580")
    machine.read()
    machine.device_file(B580, "hwmon/hwmon4/energy1_input").write_text("1000000\n")
    machine.clock.advance(1.0)
    assert machine.read()[0].absent["power_watts",] is Absence.NOT_COLLECTED
    machine.device_file(B580, "hwmon/hwmon4/energy1_input").write_text("61000000\n")
    machine.clock.advance(1.0)
    assert machine.read()[0].values["power_watts",] == pytest.approx(60.0)


def test_steps_of_the_wall_clock_do_not_matter(composed: Composed) -> None:
    machine = composed("arc-b580")
    machine.read()
    machine.clock.step_wall(-3600)
    machine.device_file(B580, "hwmon/hwmon4/energy1_input").write_text("40223456789\n")
    machine.clock.advance(1.0)
    assert machine.read()[0].values["power_watts",] == pytest.approx(100.0)


@pytest.mark.parametrize(
    "name", ["arc-b580", "max1550-two-tiles", "laptop-meteor-lake", "arc-a770-faulty"]
)
def test_every_standing_quantity_has_a_value_or_a_reason(composed: Composed, name: str) -> None:
    machine = composed(name)
    for reading in machine.read():
        whole = complete(reading, frozenset())
        assert not set(whole.values) & set(whole.absent)
        assert all(isinstance(value, int | float) for value in whole.values.values())


def test_a_hang_record_of_i915_is_noted(composed: Composed) -> None:
    machine = composed("laptop-meteor-lake")
    assert machine.read()[0].notes == ()
    (machine.root / "sys/devices/pci0000:00/0000:00:02.0/drm/card0/error").write_text(
        "GPU HANG: ecode 12:1:85dcfdfb\n"
    )
    assert any("GPU hang" in note for note in machine.read()[0].notes)


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


@pytest.mark.parametrize("celsius", ["-60000", "999000", "4294967295"])
def test_a_broken_sensor_is_an_error(composed: Composed, celsius: str) -> None:
    machine = composed("arc-b580")
    machine.device_file(B580, "hwmon/hwmon4/temp2_input").write_text(celsius)
    (reading,) = machine.read()
    assert reading.absent["temperature_celsius", "gpu"] is Absence.ERROR


@pytest.mark.parametrize("megahertz", ["627200", "-1", "4294967295"])
def test_a_clock_that_cannot_be_is_an_error(composed: Composed, megahertz: str) -> None:
    machine = composed("arc-b580")
    machine.device_file(B580, "tile0/gt0/freq0/act_freq").write_text(megahertz)
    (reading,) = machine.read()
    assert reading.absent["clock_hertz", "graphics"] is Absence.ERROR


def test_processes_of_other_users_make_sums_unknown(
    composed: Composed, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = composed("arc-b580")
    really = os.scandir

    def scandir(path: Path) -> object:
        if path == machine.root / "proc/1500/fd":
            raise PermissionError(13, "Permission denied")
        return really(path)

    monkeypatch.setattr(os, "scandir", scandir)
    machine.read()
    machine.clock.advance(1.0)
    (reading,) = machine.read()
    assert reading.absent["memory_used_bytes",] is Absence.PERMISSION
    assert "fdinfo of 3 of 4 processes readable" in reading.notes
    assert [process.pid for process in reading.processes or ()] == [4100]
    assert reading.sources["utilization_ratio"] == "gtidle"
    assert not any(key == "engine_utilization_ratio" for key, *_ in reading.values)
