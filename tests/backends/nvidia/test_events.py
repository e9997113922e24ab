"""Xid events through the event set, and what each Xid is said to mean."""

import threading

import pytest

from accelwatch.backend import EventSource
from accelwatch.base.clock import ManualClock
from accelwatch.schema.event import Category
from accelwatch.system.kernel import xid
from accelwatch_nvidia import NvidiaBackend
from support.machines.samples import sample
from support.processes.waiting import GUARD_S

from .conftest import Rig


def test_an_xid_becomes_an_event_of_its_gpu(rig: Rig) -> None:
    with rig.machine(rig.devices(2), clock=ManualClock(wall=1234.5)) as machine:
        for index in range(2):
            machine.identify(index)
        assert machine.backend.wait_events(0.01) == []
        machine.scenario.event(1, 79).event(0, 63).write()
        events = list(machine.backend.wait_events(1))
        events += machine.backend.wait_events(0.05) if len(events) < 2 else []
    assert [event.code for event in events] == ["xid_79", "xid_63"]
    assert events[0].device_id == "nvidia:GPU-5ca1ab1e-0000-4000-8000-000000000001"
    assert events[0].category is Category.BUS
    assert events[0].text == "Xid 79: GPU has fallen off the bus"
    assert events[0].source == "nvml"
    assert events[0].time == 1234.5
    assert events[1].category is Category.MEMORY_CONTAINED


def test_a_mig_instance_is_named_in_the_detail(rig: Rig) -> None:
    with rig.machine(rig.devices(1)) as machine:
        machine.identify(0)
        machine.scenario.system("event.0", "0:13:8:2:0").write()
        (event,) = machine.backend.wait_events(1)
    assert event.detail == {"gpu_instance": "2", "compute_instance": "0"}


def test_without_an_opened_gpu_the_wait_is_quiet(rig: Rig) -> None:
    with rig.machine(rig.devices(1)) as machine:
        assert machine.backend.wait_events(0.01) == ()


def test_a_gpu_without_events_is_no_error(rig: Rig) -> None:
    scenario = rig.devices(1).fault("nvmlDeviceRegisterEvents", "error:3")
    with rig.machine(scenario) as machine:
        machine.identify(0)
        assert machine.backend.wait_events(0.01) == ()


def test_a_lost_gpu_does_not_end_the_events_of_the_others(rig: Rig) -> None:
    with rig.machine(rig.devices(2)) as machine:
        for index in range(2):
            machine.identify(index)
        machine.backend.wait_events(0.01)
        machine.scenario.fault("nvmlEventSetWait_v2", "error:15").write()
        assert machine.backend.wait_events(0.01) == []
        machine.scenario.heal("nvmlEventSetWait_v2").event(1, 48).write()
        (event,) = machine.backend.wait_events(1)
    assert event.code == "xid_48"


def test_a_gpu_lost_during_the_wait_is_no_exception(rig: Rig) -> None:
    scenario = rig.devices(1).fault("nvmlEventSetWait_v2", "error:15")
    with rig.machine(scenario) as machine:
        machine.identify(0)
        assert machine.backend.wait_events(0.01) == []


def test_close_during_a_wait(rig: Rig) -> None:
    with rig.machine(rig.devices(1)) as machine:
        machine.identify(0)
        waiting = threading.Thread(target=machine.backend.wait_events, args=(0.2,))
        waiting.start()
        machine.backend.close()
        waiting.join(GUARD_S)
        assert not waiting.is_alive()


def test_the_backend_is_an_event_source() -> None:
    assert issubclass(NvidiaBackend, EventSource)


@pytest.mark.parametrize(
    ("number", "category"),
    [
        (13, Category.APPLICATION),
        (31, Category.APPLICATION),
        (48, Category.MEMORY_FATAL),
        (54, Category.POWER),
        (74, Category.LINK_FATAL),
        (94, Category.MEMORY_CONTAINED),
        (95, Category.MEMORY_FATAL),
        (109, Category.HANG),
        (119, Category.FIRMWARE),
        (126, Category.APPLICATION),
        (149, Category.LINK),
        (154, Category.OTHER),
        (4711, Category.OTHER),
    ],
)
def test_category_of_an_xid(number: int, category: Category) -> None:
    assert xid.describe(number)[0] is category


def test_undocumented_codes_say_so() -> None:
    assert xid.describe(4711)[1] == "code not documented"


@pytest.mark.oracle
def test_the_xids_the_driver_names_are_described() -> None:
    lines = sample("nvidia/kernel/xid_names.tsv").read_text().splitlines()
    numbers = {int(line.split("\t")[0]) for line in lines if line.split("\t")[0].isdigit()}
    described = {n for n in numbers if xid.describe(n)[1] != "code not documented"}
    assert {13, 31, 48, 62, 63, 64, 74, 79, 94, 95, 119} <= described
    assert 14 not in described


@pytest.mark.parametrize("refused", [True, False])
def test_events_arrive_of_a_gpu_that_was_refused_or_not_there_before(
    rig: Rig, refused: bool
) -> None:
    scenario = rig.devices(2)
    if refused:
        scenario = scenario.fault("nvmlDeviceRegisterEvents", "error:10", device=1)
    with rig.machine(scenario) as machine:
        for index in range(1 + refused):
            machine.identify(index)
        machine.backend.wait_events(0.01)
        machine.identify(1)
        machine.scenario.heal("nvmlDeviceRegisterEvents", device=1).write()
        machine.backend.wait_events(0.01)
        machine.scenario.event(1, 48).write()
        (event,) = machine.backend.wait_events(1)
    assert event.code == "xid_48"
