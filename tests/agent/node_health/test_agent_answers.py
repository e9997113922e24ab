"""A real agent over the stand-in driver, asked over gRPC, and by the real client where it is."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from accelwatch.backend.kit.grpc.protobuf import fields
from accelwatch_lab.cluster.cached_programs import cached
from support.machines.nvml_stand_ins import NvmlScenario
from support.servers.agent_processes import AgentProcess

METHOD = "/nvhcd.HealthCheckService/RunHealthCheck"
# Put there by `make nvrx`, which needs a package index.
CLIENT = cached("nvrx", "0.7.0")
ASK = """\
import logging, sys
logging.basicConfig(stream=sys.stdout)
from nvidia_resiliency_ext.shared_utils.health_check import NodeHealthCheck
print(NodeHealthCheck(endpoint=sys.argv[1])())
"""


@pytest.fixture
def driver(tmp_path: Path) -> NvmlScenario:
    scenario = NvmlScenario.of(tmp_path / "node.scenario", "h100x8")
    scenario.write()
    return scenario


@pytest.fixture
def agent(tmp_path: Path, driver: NvmlScenario) -> Iterator[AgentProcess]:
    config = (
        "collect: {backends: [nvidia], interval: 200ms}\n"
        f"node_health: {{socket: '{tmp_path / 'health.sock'}'}}\n"
    )
    started = AgentProcess(tmp_path, config, driver.environment())
    yield started
    started.kill()


def succeeds(path: Path) -> bool:
    with grpc.insecure_channel(f"unix:{path}") as channel:
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(METHOD)
        answer = call(b"", wait_for_ready=True, timeout=60)
    return bool(dict(fields(answer))[1])


def test_a_lost_device_keeps_the_node_out(
    agent: AgentProcess, driver: NvmlScenario, tmp_path: Path
) -> None:
    agent.wait_for(agent.ready)
    agent.wait_for(lambda: succeeds(tmp_path / "health.sock"))
    driver.lose(3).write()
    agent.wait_for(lambda: not succeeds(tmp_path / "health.sock"))
    assert agent.end(signal.SIGTERM) == 0
    assert not (tmp_path / "health.sock").exists()


def test_the_socket_follows_the_configuration(agent: AgentProcess, tmp_path: Path) -> None:
    agent.wait_for(agent.ready)
    first, second = tmp_path / "health.sock", tmp_path / "other.sock"
    agent.file.write_text(agent.file.read_text().replace(first.name, second.name))
    agent.process.send_signal(signal.SIGHUP)
    agent.wait_for(second.exists)
    agent.wait_for(lambda: succeeds(second))
    agent.wait_for(lambda: not first.exists())


@pytest.mark.skipif(not CLIENT.exists(), reason="nvidia-resiliency-ext is not there: make nvrx")
def test_the_real_client_takes_our_word(
    agent: AgentProcess, driver: NvmlScenario, tmp_path: Path
) -> None:
    def output() -> str:
        completed = subprocess.run(
            [sys.executable, "-c", ASK, str(tmp_path / "health.sock")],
            env={**os.environ, "PYTHONPATH": str(CLIENT)},
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        return completed.stdout

    agent.wait_for(agent.ready)
    assert output().splitlines()[-1] == "True"
    driver.lose(3).write()
    agent.wait_for(lambda: not succeeds(tmp_path / "health.sock"))
    assert output().splitlines()[-1] == "False"
    assert "nvidia3: the GPU has fallen off the bus" in output()
