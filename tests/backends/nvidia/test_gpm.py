"""Unit activity by GPM: two samples, in a loop and in a single reading."""

import threading
import time

import pytest

from accelwatch.backend import Request
from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Reading
from accelwatch_nvidia.quantities.gpm import MIN_INTERVAL_S
from support.processes.waiting import GUARD_S, wait_until

from .conftest import Rig

ACTIVE: Series = ("compute_active_ratio",)


def test_activity_comes_with_the_second_reading(rig: Rig) -> None:
    with rig.machine(rig.devices(1)) as machine:
        (device,) = machine.identify(0)
        first = machine.backend.read(device, Request())[0]
        assert first.absent[ACTIVE] is Absence.NOT_COLLECTED
        time.sleep(MIN_INTERVAL_S)
        values = machine.backend.read(device, Request())[0].values
    assert values[ACTIVE] == pytest.approx(0.982)
    assert values["compute_occupancy_ratio",] == pytest.approx(0.417)
    assert values["matrix_active_ratio",] == pytest.approx(0.873)
    assert values["memory_bandwidth_utilization_ratio",] == pytest.approx(0.584)
    assert ("pipe_active_ratio", "fp32") not in values


def test_a_single_reading_samples_only_for_its_group(rig: Rig) -> None:
    with rig.machine(rig.devices(1), one_shot=True) as machine:
        plain = machine.read(0)[0]
        reading = machine.read(0, "pipes")[0]
    assert plain.absent[ACTIVE] is Absence.NOT_COLLECTED
    assert reading.values[ACTIVE] == pytest.approx(0.982)
    assert reading.values["pipe_active_ratio", "integer"] == pytest.approx(0.061)


def test_readings_closer_than_a_sample_give_the_last_activity(rig: Rig) -> None:
    with rig.machine(rig.devices(1), one_shot=True) as machine:
        (device,) = machine.identify(0)
        request = Request(groups=frozenset({"pipes"}))
        machine.backend.read(device, request)
        assert ACTIVE in machine.backend.read(device, request)[0].values


def test_a_gpu_without_gpm_is_unsupported(rig: Rig) -> None:
    with rig.machine(rig.scenario("t4")) as machine:
        reading = machine.read(0)[0]
    assert reading.absent[ACTIVE] is Absence.UNSUPPORTED


def test_a_broken_sample_is_an_error_not_a_value(rig: Rig) -> None:
    scenario = rig.devices(1).set(0, "gpm.5", "nan").set(0, "gpm.2", 250.0)
    with rig.machine(scenario, one_shot=True) as machine:
        reading = machine.read(0, "pipes")[0]
    assert reading.absent["matrix_active_ratio",] is Absence.ERROR
    assert reading.absent[ACTIVE] is Absence.ERROR


def test_a_gpu_stuck_in_gpm_does_not_hold_the_others(rig: Rig) -> None:
    with rig.machine(rig.devices(2)) as machine:
        stuck, free = machine.identify(0)[0], machine.identify(1)[0]
        machine.scenario.fault("nvmlGpmSampleGet", "stall", device=0).write()
        thread = threading.Thread(target=machine.backend.read, args=(stuck, Request()), daemon=True)
        thread.start()

        def held_up() -> Reading | None:
            reading = machine.backend.read(free, Request())[0]
            return reading if reading.absent.get(ACTIVE) is Absence.TIMEOUT else None

        assert wait_until(held_up).values["power_watts",] > 0
        machine.scenario.heal("nvmlGpmSampleGet", device=0).write()
        thread.join(GUARD_S)
        assert not thread.is_alive()


def test_being_identified_again_leaves_no_gap(rig: Rig) -> None:
    with rig.machine(rig.devices(1)) as machine:
        (device,) = machine.identify(0)
        machine.backend.read(device, Request())
        time.sleep(MIN_INTERVAL_S)
        machine.backend.read(device, Request())
        assert machine.identify(0) == [device]
        assert ACTIVE in machine.backend.read(device, Request())[0].values


def test_a_restarted_library_starts_with_a_first_sample(rig: Rig) -> None:
    with rig.machine(rig.devices(1)) as machine:
        (device,) = machine.identify(0)
        machine.backend.read(device, Request())
        machine.scenario.fault("*", "error:1").write()
        with pytest.raises(ReadError):
            machine.backend.read(device, Request())
        machine.scenario.heal("*").write()
        reading = machine.backend.read(device, Request())[0]
        assert reading.absent[ACTIVE] is Absence.NOT_COLLECTED
        time.sleep(MIN_INTERVAL_S)
        assert ACTIVE in machine.backend.read(device, Request())[0].values
