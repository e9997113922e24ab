"""A GPU whose calls end the process costs its own row: the real binding over a library that does it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from accelwatch.base.absence import Absence
from accelwatch.node.sampler.protocol.blame import QUARANTINE_FIRST_S
from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.snapshot import BackendState, DeviceView, Snapshot
from node.sampler.agents import Agent, AheadClock, status
from support.machines.nvml_stand_ins import NvmlScenario

READ = "nvmlDeviceGetUtilizationRates"
IDENTIFY = "nvmlDeviceGetUUID"
# A deadline that no machine is too busy for; nothing here waits for it.
PATIENT = "10m"


@pytest.fixture
def scenario(tmp_path: Path) -> NvmlScenario:
    made = NvmlScenario(tmp_path / "nvml.scenario").devices(8, "h100")
    made.write()
    return made


@pytest.fixture
def clock() -> AheadClock:
    return AheadClock()


@pytest.fixture
def agent(scenario: NvmlScenario, clock: AheadClock) -> Iterator[Agent]:
    settings = CollectSettings(
        backends=("nvidia", "host"), interval_s=0.2, timeout_s=5.0, rediscover_s=1.0
    )
    agent = Agent(settings, scenario.environment(), clock=clock)
    yield agent
    agent.close()


def row(snapshot: Snapshot, index: int) -> DeviceView:
    return next(v for v in snapshot.devices if v.device.index == index)


def all_ok(snapshot: Snapshot) -> bool:
    return len(snapshot.devices) == 8 and all(v.state is DeviceState.OK for v in snapshot.devices)


def only_one_dark(index: int) -> Callable[[Snapshot], bool]:
    """One device is held out; each other one was read after the last crash."""

    def check(snapshot: Snapshot) -> bool:
        if len(snapshot.devices) != 8 or not snapshot.events:
            return False
        since = snapshot.events[-1].time
        others = [v for v in snapshot.devices if v.device.index != index]
        return row(snapshot, index).state is DeviceState.UNRESPONSIVE and all(
            v.state is DeviceState.OK and (v.sample_time or 0.0) > since for v in others
        )

    return check


def held_out_for(seconds: int) -> Callable[[Snapshot], bool]:
    """Device 3 alone is dark, for so long."""

    def check(snapshot: Snapshot) -> bool:
        reasons = row(snapshot, 3).health_reasons if only_one_dark(3)(snapshot) else ()
        return any(f"excluded for {seconds} s" in reason for reason in reasons)

    return check


def few_restarts(agent: Agent) -> bool:
    """One, or two: an exit names no thread, and a crash report can break off before the one that did it,
    since other threads run on while it is written. Then a further child finds out which it was."""
    return len(agent.children) in (2, 3)


def shot(scenario: NvmlScenario, *more: str) -> tuple[int, dict[str, Any]]:
    """Exit code and document of a single reading."""
    command = [sys.executable, "-m", "accelwatch", "--json", "--backend", "nvidia", *more]
    done = subprocess.run(
        command, env=os.environ | scenario.environment(), capture_output=True, check=False
    )
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("call", [READ, IDENTIFY, "nvmlDeviceGetHandleByIndex_v2"])
@pytest.mark.parametrize("end", ["segv", "abort", "exit:0", "exit:1"])
def test_a_single_reading_has_the_seven_others(scenario: NvmlScenario, call: str, end: str) -> None:
    scenario.fault(call, end, device=3).write()
    code, document = shot(scenario, "--timeout", PATIENT)
    assert [d["state"] for d in document["devices"]] == [
        "unresponsive" if n == 3 else "ok" for n in range(8)
    ]
    assert [d["index"] for d in document["devices"] if d["power_watts"]] == [0, 1, 2, 4, 5, 6, 7]
    (why,) = [e for e in document["errors"] if e["device_id"] == document["devices"][3]["id"]]
    assert why["code"] == "crash"
    assert "the collector process ended with" in why["message"]
    assert code == 0


def test_a_single_reading_goes_on_without_each_gpu_that_crashes(scenario: NvmlScenario) -> None:
    for index in (0, 2, 7):
        scenario.fault(READ, "segv", device=index)
    scenario.write()
    _, document = shot(scenario, "--timeout", PATIENT)
    dark = [d["index"] for d in document["devices"] if d["state"] == "unresponsive"]
    assert dark == [0, 2, 7]


def test_a_single_reading_lets_a_library_print_nothing(scenario: NvmlScenario) -> None:
    scenario.fault(READ, f"stderr:{1 << 20}", device=3).write()
    command = [sys.executable, "-m", "accelwatch", "--json", "-b", "nvidia", "--timeout", PATIENT]
    done = subprocess.run(
        command, env=os.environ | scenario.environment(), capture_output=True, check=False
    )
    assert [d["state"] for d in json.loads(done.stdout)["devices"]] == ["ok"] * 8
    assert done.stderr == b""


def test_a_single_reading_has_the_numbers_of_a_gpu_whose_processes_do_not_come(
    scenario: NvmlScenario,
) -> None:
    scenario.fault("nvmlDeviceGetComputeRunningProcesses_v3", "hang", device=3).write()
    code, document = shot(scenario, "--timeout", "10s")
    device = document["devices"][3]
    assert device["power_watts"] > 0
    assert device["absent"]["processes"] == "timeout"
    assert code == 0


def test_slow_gpus_are_queried_one_by_one_until_the_one_that_exits_is_known(
    scenario: NvmlScenario,
) -> None:
    scenario.fault(IDENTIFY, "delay_ms:20", device="*")
    scenario.fault(IDENTIFY, "delay_ms:20,exit:0", device=3).write()
    _, document = shot(scenario, "--timeout", PATIENT)
    assert [d["index"] for d in document["devices"] if d["state"] != "ok"] == [3]


def test_a_library_that_exits_when_it_is_started_does_not_take_the_host_along(
    scenario: NvmlScenario,
) -> None:
    scenario.fault("nvmlInit_v2", "exit:0").write()
    _, document = shot(scenario, "--backend", "nvidia,host", "--timeout", PATIENT)
    states = {backend["name"]: backend["state"] for backend in document["backends"]}
    assert states == {"host": "ok", "nvidia": "failed"}


@pytest.mark.parametrize("call", [READ, IDENTIFY])
@pytest.mark.parametrize("end", ["segv", "exit:0"])
def test_the_seven_others_go_on_in_a_second_child(
    agent: Agent, scenario: NvmlScenario, call: str, end: str
) -> None:
    agent.until(all_ok)
    scenario.fault(call, end, device=3).write()
    snapshot = agent.until(only_one_dark(3))
    dark = row(snapshot, 3)
    assert dark.reading.absent == {("*",): Absence.ERROR}
    assert dark.health is Health.UNKNOWN
    assert "excluded for 5 s" in dark.health_reasons[0]
    assert dark.device.model == "NVIDIA H100 80GB HBM3"
    assert snapshot.events[-1].device_id == dark.device.id
    assert status(snapshot, "nvidia").state is BackendState.OK
    assert few_restarts(agent)


def test_it_is_tried_again_ever_more_rarely_and_each_trial_costs_one_restart(
    agent: Agent, scenario: NvmlScenario, clock: AheadClock
) -> None:
    scenario.fault(READ, "segv", device=3).write()
    agent.until(held_out_for(5))
    started = len(agent.children)
    clock.advance(QUARANTINE_FIRST_S)
    agent.until(held_out_for(10))
    assert len(agent.children) == started + 1
    scenario.heal(READ, device=3).write()
    clock.advance(QUARANTINE_FIRST_S)
    assert len(agent.children) == started + 1
    clock.advance(QUARANTINE_FIRST_S)
    agent.until(all_ok)
    assert len(agent.children) == started + 1


def test_a_gpu_that_crashes_before_it_was_identified_is_a_row(
    agent: Agent, scenario: NvmlScenario
) -> None:
    scenario.fault(IDENTIFY, "segv", device=3).write()
    snapshot = agent.until(only_one_dark(3))
    assert row(snapshot, 3).device.model is None
    assert few_restarts(agent)


def test_what_a_library_prints_is_logged_once_and_bounded(
    agent: Agent,
    scenario: NvmlScenario,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    scenario.fault(READ, f"stderr:{1 << 20}", device=3).write()
    agent.until(
        lambda s: all_ok(s) and s.own.get(("collector_cycles_total", "nvidia", "ok"), 0) > 5
    )
    agent.until(lambda _: caplog.records)
    (record,) = caplog.records
    message = record.getMessage()
    assert message.startswith("a vendor library printed: nvml stand-in: says more")
    assert message.endswith("what follows is left out")
    assert len(message) < 2000
    assert "nvml stand-in" not in capfd.readouterr().err


def test_the_last_words_of_a_library_are_part_of_its_crash(
    agent: Agent, scenario: NvmlScenario
) -> None:
    scenario.fault(READ, "stderr:64,abort", device=3).write()
    snapshot = agent.until(only_one_dark(3))
    words = "last printed: nvml stand-in: says more than anyone wants to know"
    assert words in row(snapshot, 3).health_reasons[0]


def test_an_event_source_that_crashes_costs_the_events_only(
    agent: Agent, scenario: NvmlScenario
) -> None:
    scenario.fault("nvmlEventSetWait_v2", "segv").write()
    agent.until(lambda s: s.events)
    agent.until(all_ok)
    assert len(agent.children) == 2
