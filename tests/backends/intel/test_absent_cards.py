"""Intel cards that do not answer: asleep, given to a virtual machine, without a driver, lost."""

from pathlib import Path

import pytest

from accelwatch.backend import Request
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DevicePermission, DeviceSuspended, ReadError
from accelwatch.schema.health import NO_DRIVER
from accelwatch.system.kernel import sysfs
from support.machines.intel_machines import B580, Composed


def test_a_sleeping_card_is_left_asleep(composed: Composed) -> None:
    machine = composed("arc-a770-faulty")
    sleeper = machine.backend().discover()[1]
    assert sleeper.pci_bus_id == "0000:08:00.0"
    (known,) = machine.backend().identify(sleeper)
    assert known.model == "Intel Arc A380 Graphics"
    assert known.absent["uuid"] is Absence.SUSPENDED
    with pytest.raises(DeviceSuspended):
        machine.read(1)


def test_a_sleeping_card_is_only_queried_for_its_power_state(
    composed: Composed, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = composed("arc-a770-faulty")
    machine.device_file("0000:08:00.0", "config").write_bytes(b"\xff" * 64)
    device = machine.backend().discover()[1]
    paths: set[str] = set()
    really = sysfs.read_bytes

    def read_bytes(path: Path) -> bytes | Absence:
        paths.add(str(path).rpartition("0000:08:00.0/")[2])
        return really(path)

    monkeypatch.setattr(sysfs, "read_bytes", read_bytes)
    machine.backend().identify(device)
    with pytest.raises(DeviceSuspended):
        machine.backend().read(device, Request())
    assert paths == {"power/runtime_status"}


def test_a_sleeping_npu_answers_without_waking(composed: Composed) -> None:
    machine = composed("laptop-meteor-lake")
    machine.device_file("0000:00:0b.0", "power/runtime_status").write_text("suspended\n")
    machine.device_file("0000:00:0b.0", "npu_current_frequency_mhz").write_text("0\n")
    machine.read(1)
    machine.clock.advance(1.0)
    (reading,) = machine.read(1)
    assert reading.values["clock_hertz", "npu"] == 0
    assert reading.values["utilization_ratio",] == 0


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
    with pytest.raises(ReadError, match="load xe or i915") as failed:
        machine.read()
    assert failed.value.code == NO_DRIVER


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
