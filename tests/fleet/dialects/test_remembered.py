"""What a target reported before, for when its exporter can name or read none of its devices."""

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.fleet.dialects.base import remembered
from accelwatch.fleet.dialects.base.remembered import Failure, Remembered
from accelwatch.schema.device import Device, DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.snapshot import DeviceView, EventCount
from support.machines import composed as machines

COUNTS = (EventCount(code="xid_79", category="bus", total=1, last_time=5.0),)
NOBODY_LOST, ONE_LOST = Failure(False, "a note"), Failure(True, "a note")


def named(device: Device, **changes: object) -> DeviceView:
    return machines.view(device.index, device=device, **changes)


def test_a_count_without_a_time_grew_when_it_was_seen_to_grow() -> None:
    memory = Remembered()
    samples = [(3, 10.0), (3, 20.0), (4, 30.0), (4, 40.0), (2, 50.0), (3, 60.0)]
    assert [memory.last_time("x", "c", total, now) for total, now in samples] == [
        0.0,
        0.0,
        30.0,
        30.0,
        30.0,
        60.0,
    ]
    assert memory.last_time("y", "c", 4, 70.0) == 0.0
    assert memory.last_time("x", "d", 4, 70.0) == 0.0


def test_counts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "MAX_COUNTS", 2)
    memory = Remembered()
    for now, device_id in enumerate("abc" * 2):
        memory.last_time(device_id, "c", 1, now)
    assert [memory.last_time(one, "c", 2, 9.0) for one in "abc"] == [9.0, 9.0, 0.0]


def test_devices_that_cannot_be_read_stay_as_they_were() -> None:
    memory = Remembered()
    views = [
        named(machines.device(0), event_counts=COUNTS),
        named(machines.device(1)),
    ]
    assert memory.completed("d", views, None, 100.0) == tuple(views)
    for failure in (NOBODY_LOST, ONE_LOST):
        for now in (110.0, 120.0):
            first, second = memory.completed("d", (), failure, now)
            assert (first.device, second.device) == (machines.device(0), machines.device(1))
            assert (first.state, first.state_since) == (DeviceState.UNRESPONSIVE, 110.0)
            assert (first.sample_time, first.sample_age_s) == (100.0, now - 100.0)
            assert first.reading.absent == {("*",): Absence.TIMEOUT}
            assert (first.reading.notes, first.event_counts) == (("a note",), COUNTS)
            assert first.reading.device_id == first.device.id
            assert first.health is not Health.OK
            assert first.health_reasons == ("the device does not answer",)
    assert memory.completed("d", views, None, 130.0) == tuple(views)
    again, _ = memory.completed("d", (), NOBODY_LOST, 140.0)
    assert (again.state_since, again.sample_time) == (140.0, 130.0)
    assert memory.completed("other", (), NOBODY_LOST, 140.0) == ()


def test_the_only_device_of_a_target_is_the_one_that_is_lost() -> None:
    memory = Remembered()
    part = machines.mig_view(7, 0)
    memory.completed("d", [named(machines.device(0)), part], None, 100.0)
    whole, instance = memory.completed("d", (), ONE_LOST, 90.0)
    assert (whole.state, instance.state) == (DeviceState.LOST, DeviceState.LOST)
    assert whole.reading.absent == {("*",): Absence.LOST}
    assert whole.sample_age_s == 0.0
    whole, _ = memory.completed("d", (), NOBODY_LOST, 90.0)
    assert whole.state is DeviceState.UNRESPONSIVE


def test_devices_that_are_read_after_a_failure_are_as_they_are_reported() -> None:
    memory = Remembered()
    memory.completed("d", [named(machines.device(0))], None, 100.0)
    old = [named(machines.device(0), state=DeviceState.DEGRADED)]
    assert memory.completed("d", old, NOBODY_LOST, 110.0) == tuple(old)


def lost(index: int, **changes: object) -> DeviceView:
    """A lost device that an exporter reports without the names of before."""
    bare = {"id": f"nvidia:nvidia{index}", "uuid": None, "pci_bus_id": None, "serial": None}
    device = machines.device(index, **{**bare, **changes})
    return named(device, state=DeviceState.LOST, state_since=150.0)


def test_a_lost_device_keeps_the_name_that_it_had() -> None:
    memory = Remembered()
    known = [named(machines.device(index)) for index in (0, 1)]
    memory.completed("d", known, None, 100.0)
    (here, gone) = memory.completed("d", [known[0], lost(1)], None, 150.0)
    assert here is known[0]
    assert gone.device == machines.device(1)
    assert gone.reading.device_id == machines.device(1).id
    assert (gone.sample_time, gone.sample_age_s) == (100.0, 50.0)
    assert gone.state is DeviceState.LOST
    (_, again) = memory.completed("d", [known[0], lost(1)], None, 160.0)
    assert (again.device, again.sample_time) == (machines.device(1), 100.0)


@pytest.mark.parametrize(
    "other",
    [
        lost(5),
        lost(1, vendor="amd"),
        lost(1, uuid="GPU-new"),
        lost(1, pci_bus_id="0000:99:00.0"),
        msgspec.structs.replace(lost(1), state=DeviceState.OK),
    ],
)
def test_a_device_that_may_be_another_keeps_the_name_that_is_reported(other: DeviceView) -> None:
    memory = Remembered()
    memory.completed("d", [named(machines.device(index)) for index in (0, 1)], None, 100.0)
    found = memory.completed("d", [named(machines.device(0)), other], None, 150.0)
    assert found[1] is other


def test_a_name_that_another_device_has_is_not_given_twice() -> None:
    memory = Remembered()
    known = named(machines.device(1))
    memory.completed("d", [known], None, 100.0)
    assert memory.completed("d", [known, lost(1)], None, 150.0)[1].device.uuid is None
    part = machines.mig_view(1, 0)
    parts = Remembered()
    parts.completed("d", [part], None, 100.0)
    assert parts.completed("d", [lost(1)], None, 150.0)[0].device.uuid is None
