"""A real agent with rules over the stand-in driver: a device is lost, an incident opens and closes."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.machines.nvml_stand_ins import NvmlScenario
from support.processes.warm_command import accelwatch
from support.servers.agent_processes import AgentProcess

RULES = """\
version: 1
defaults: {keep: 0, cooldown: 0}
rules:
- id: gpu.lost
  title: GPU has fallen off the bus
  when: state == "lost"
  severity: critical
"""


@pytest.fixture
def driver(tmp_path: Path) -> NvmlScenario:
    scenario = NvmlScenario.of(tmp_path / "node.scenario", "h100x8")
    scenario.write()
    return scenario


@pytest.fixture
def agent(tmp_path: Path, driver: NvmlScenario) -> Iterator[AgentProcess]:
    (tmp_path / "rules.yaml").write_text(RULES)
    config = (
        "collect: {backends: [nvidia], interval: 200ms}\nstate_dir: state\n"
        "rules: {files: [rules.yaml]}\n"
    )
    started = AgentProcess(tmp_path, config, driver.environment())
    yield started
    started.kill()


def test_a_fault_of_the_driver_is_an_incident(agent: AgentProcess, driver: NvmlScenario) -> None:
    agent.wait_for(agent.ready)

    def titles() -> list[str]:
        document = json.loads(agent.get("/v1/incidents"))
        return [f"{one['device_name']}: {one['title']}" for one in document["incidents"]]

    assert titles() == []
    driver.lose(3).write()
    agent.wait_for(lambda: titles() == ["nvidia3: GPU has fallen off the bus"])
    firing = 'accel_rule_firing{rule="gpu.lost",severity="critical"} 1'
    agent.wait_for(lambda: firing in agent.get("/metrics"))
    result = accelwatch("incidents", "--agent", agent.address, environ={})
    assert "\ni1  critical  20" in result.stdout
    result = accelwatch("incidents", "i1", "--agent", f"http://{agent.address}", environ={})
    assert "evidence   state is lost" in result.stdout
    result = accelwatch(
        "rules", "explain", "gpu.lost", "nvidia3", "--agent", agent.address, environ={}
    )
    assert ": firing" in result.stdout

    quiet = ("rule=gpu.lost", "--for", "1h", "--reason", "swap", "--agent", agent.address)
    assert accelwatch("silence", "add", *quiet, environ={}).stdout.startswith("s2  in force")
    result = accelwatch("incidents", "--agent", agent.address, environ={})
    assert result.stdout.endswith("(muted by silence s2: swap)\n")

    # Broken rules change nothing; mended ones are taken up with the same signal.
    (agent.folder / "rules.yaml").write_text("version: 1\nrules: [{id: a, title: t, when: 'x'}]")
    agent.process.send_signal(signal.SIGHUP)
    agent.wait_for(lambda: "configuration refused" in agent.log_text())
    assert titles() == ["nvidia3: GPU has fallen off the bus"]
    (agent.folder / "rules.yaml").write_text(RULES + "- {id: b, title: t, when: power_watts < 0}\n")
    agent.process.send_signal(signal.SIGHUP)
    agent.wait_for(lambda: json.loads(agent.get("/v1/incidents"))["rules"] == 2)

    # An empty file is one that somebody is writing.
    full = agent.file.read_text()
    agent.file.write_text("")
    agent.process.send_signal(signal.SIGHUP)
    agent.wait_for(lambda: f"{agent.file}: the file sets nothing" in agent.log_text())
    failed = 'accel_exporter_config_last_reload_successful{config="agent"} 0'
    agent.wait_for(lambda: failed in agent.get("/metrics"))
    assert titles() == ["nvidia3: GPU has fallen off the bus"]
    agent.file.write_text(full)

    # Rules that are taken out of the configuration take their page with them.
    agent.file.write_text(agent.file.read_text().replace("rules:", "#"))
    agent.process.send_signal(signal.SIGHUP)
    agent.wait_for(lambda: agent.status("/v1/incidents") == 404)
    assert agent.status("/v1/silences") == 404
    agent.wait_for(lambda: "the configuration has no rules any more" in agent.log_text())
    agent.wait_for(lambda: "accel_rule_firing" not in agent.get("/metrics"))
    assert agent.end(signal.SIGTERM) == 0
