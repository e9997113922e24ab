"""The collector process over a library that is driven by a scenario: the real binding, real crashes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from accelwatch.base.absence import Absence
from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.schema.device import DeviceState
from accelwatch.schema.snapshot import BackendState, Snapshot
from node.sampler.agents import Agent, is_state, status, view
from support.machines.nvml_stand_ins import NvmlScenario

READ = "nvmlDeviceGetUtilizationRates"


def gpu(number: int) -> str:
    return f"nvidia:GPU-5ca1ab1e-0000-4000-8000-{number:012d}"


@pytest.fixture
def scenario(tmp_path: Path) -> NvmlScenario:
    made = NvmlScenario(tmp_path / "nvml.scenario").devices(8, "h100")
    made.write()
    return made


@pytest.fixture
def agent(scenario: NvmlScenario) -> Iterator[Agent]:
    settings = CollectSettings(
        backends=("nvidia", "host"), interval_s=0.2, timeout_s=0.5, rediscover_s=1.0
    )
    agent = Agent(settings, scenario.environment())
    yield agent
    agent.close()


def all_ok(snapshot: Snapshot) -> bool:
    return len(snapshot.devices) == 8 and all(v.state is DeviceState.OK for v in snapshot.devices)


def test_a_hung_gpu_is_one_row(agent: Agent, scenario: NvmlScenario) -> None:
    agent.until(all_ok)
    scenario.fault("*", "hang", device=3).write()
    snapshot = agent.until(is_state(gpu(3), DeviceState.UNRESPONSIVE))
    hung = view(snapshot, gpu(3))
    assert hung is not None
    assert hung.reading.absent == {("*",): Absence.TIMEOUT}
    assert hung.device.model == "NVIDIA H100 80GB HBM3"
    late = ("collector_cycles_total", "nvidia", "timeout")
    # The row is told before the cycle that it belongs to is over.
    cycles = snapshot.own.get(late, 0)
    snapshot = agent.until(
        lambda s: (
            s.own.get(late, 0) > cycles + 3
            and [v.state for v in s.devices].count(DeviceState.OK) == 7
        )
    )
    assert is_state(gpu(3), DeviceState.UNRESPONSIVE)(snapshot)
    assert len(agent.children) == 1


def test_a_gpu_is_lost_between_two_ticks_and_comes_back(
    agent: Agent, scenario: NvmlScenario
) -> None:
    agent.until(all_ok)
    scenario.set(5, "lost", 1).write()
    snapshot = agent.until(is_state(gpu(5), DeviceState.LOST))
    assert len(snapshot.devices) == 8
    scenario.unset(5, "lost").write()
    agent.until(all_ok)


def test_a_crash_in_the_library_is_traced_to_it_and_readings_come_back(
    agent: Agent, scenario: NvmlScenario
) -> None:
    agent.until(all_ok)
    scenario.fault(READ, "segv").write()
    snapshot = agent.until(lambda s: s.events)
    scenario.heal(READ).write()
    assert snapshot.events[0].detail == {"code": "SIGSEGV", "backends": "nvidia"}
    assert snapshot.own["collector_up", "nvidia"] == 0
    agent.until(lambda s: all_ok(s) and s.own["collector_up", "nvidia"] == 1)


@pytest.mark.parametrize("end", ["segv", "exit:0"])
def test_a_library_that_crashes_when_started_is_held_out_and_the_host_is_still_read(
    agent: Agent, scenario: NvmlScenario, end: str
) -> None:
    agent.until(all_ok)
    scenario.fault(READ, "segv").fault("nvmlInit_v2", end).write()
    snapshot = agent.until(
        lambda s: (
            any(b.state is BackendState.FAILED for b in s.backends)
            and s.own.get(("collector_up", "host")) == 1
        )
    )
    assert status(snapshot, "nvidia").reason == "crash"
    assert snapshot.node is not None
    assert snapshot.node.state is DeviceState.OK
    assert {v.state for v in snapshot.devices} == {DeviceState.UNRESPONSIVE}


LIST = "nvmlDeviceGetComputeRunningProcesses_v3"


def test_a_gpu_whose_processes_do_not_come_goes_on_with_its_numbers(
    agent: Agent, scenario: NvmlScenario
) -> None:
    agent.until(all_ok)
    scenario.fault(LIST, "stall", device=3).write()
    snapshot = agent.until(is_state(gpu(3), DeviceState.DEGRADED))
    first = view(snapshot, gpu(3))
    assert first is not None
    assert first.reading.values["power_watts",] > 0
    assert first.reading.absent["processes",] is Absence.TIMEOUT

    def goes_on(snapshot: Snapshot) -> bool:
        now = view(snapshot, gpu(3))
        assert now is not None
        return now.state is DeviceState.DEGRADED and now.sample_time != first.sample_time

    agent.until(lambda s: goes_on(s) and [v.state for v in s.devices].count(DeviceState.OK) == 7)
    scenario.heal(LIST, device=3).write()
    agent.until(all_ok)
    assert len(agent.children) == 1


def test_a_crowd_of_processes_costs_no_row(agent: Agent, scenario: NvmlScenario) -> None:
    for device in range(8):
        scenario.set(device, "process_crowd", 100_000)
    scenario.write()
    snapshot = agent.until(
        lambda s: (
            len(s.devices) == 8 and all(v.reading.values.get(("power_watts",)) for v in s.devices)
        )
    )
    assert {v.state for v in snapshot.devices} <= {DeviceState.OK, DeviceState.DEGRADED}
