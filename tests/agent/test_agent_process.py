"""The agent as a process: start, scrape, reload, notification, and its end with clients attached."""

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from accelwatch.base.errors import AccelwatchError, ConfigError, UsageError
from accelwatch.cli.servers.agent_command import run_agent
from accelwatch.cli.servers.config_command import (
    config_check,
    config_path,
    config_show,
    hub_config_check,
)
from support.processes.waiting import GUARD_S
from support.servers.agent_processes import AgentProcess

Start = Callable[..., AgentProcess]

CONFIG = """
collect:
  backends: ["hanging_backend:HangingBackend"]
  interval: 200ms
  timeout: 200ms
web: {listen_address: "127.0.0.1:0"}
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[AgentProcess] = []

    def _start(config: str = CONFIG, **environ: str) -> AgentProcess:
        path = {"PYTHONPATH": str(Path(__file__).parent)}
        started.append(AgentProcess(tmp_path, config, {**path, **environ}))
        return started[-1]

    yield _start
    for process in started:
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_and_ends_with_clients_and_a_hung_driver(
    start: Start, number: signal.Signals
) -> None:
    agent = start()
    agent.wait_for(agent.ready)
    answered = 'accel_utilization_ratio{vendor="test",device="test0",uuid="u0"} 0.5'
    # Who answers may once be later than the 200 ms after which the other one is given up.
    agent.wait_for(lambda: answered in agent.get("/metrics"))
    text = agent.get("/metrics")
    assert 'accel_device_up{vendor="test",device="test1",uuid="u1"} 0' in text
    assert "accel_pipe_active_ratio" not in text
    host, port = agent.address.split(":")
    with (
        socket.create_connection((host, int(port)), timeout=GUARD_S) as silent,
        socket.create_connection((host, int(port)), timeout=GUARD_S) as streaming,
    ):
        streaming.sendall(b"GET /v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200 OK" in streaming.recv(65536)
        assert agent.end(number) == 0
        assert silent.recv(1) == b""
    assert "Traceback" not in agent.log_text()


def test_hup_reads_the_configuration_again(start: Start) -> None:
    agent = start()
    agent.wait_for(agent.ready)
    before = agent.address
    agent.file.write_text(
        CONFIG.replace("127.0.0.1:0", "127.0.0.1:1")
        + "exposition: {groups: [pipes]}\nlog: {format: json}\n"
    )
    agent.process.send_signal(signal.SIGHUP)
    agent.wait_for(lambda: "accel_pipe_active_ratio" in agent.get("/metrics"))
    assert agent.address == before
    assert "a change takes a restart key=web.listen_address" in agent.log_text()
    agent.wait_for(lambda: '"message":"configuration read again"' in agent.log_text())

    agent.file.write_text("collect: {intervall: 1s}")
    agent.process.send_signal(signal.SIGHUP)
    failed = 'accel_exporter_config_last_reload_successful{config="agent"} 0'
    agent.wait_for(lambda: failed in agent.get("/metrics"))
    assert "did you mean interval?" in agent.log_text()
    agent.wait_for(lambda: "accel_pipe_active_ratio" in agent.get("/metrics"))
    assert agent.end(signal.SIGTERM) == 0


def test_it_keeps_its_memory_and_files_to_itself(start: Start) -> None:
    agent = start()
    agent.wait_for(agent.ready)
    proc = Path("/proc") / str(agent.process.pid)
    limit = re.search(r"Max core file size +(\S+) +(\S+)", (proc / "limits").read_text())
    assert limit is not None
    assert limit.groups() == ("0", "0")
    assert "Umask:\t0077" in (proc / "status").read_text()
    assert agent.end(signal.SIGTERM) == 0


def test_a_process_with_secrets_is_not_dumpable() -> None:
    code = (
        "import ctypes; from accelwatch.system.daemon.privacy import protect_process as keep\n"
        "get = lambda: ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)\n"
        "before = get(); keep(); print(before, get())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.split()[1] == "0"


def test_systemd_is_notified(start: Start, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(GUARD_S)
        agent = start(NOTIFY_SOCKET=str(tmp_path / "notify"), WATCHDOG_USEC="300000")
        received: list[bytes] = []

        def until(word: bytes) -> None:
            while word not in b"\n".join(received):
                received.append(manager.recv(4096))

        until(b"READY=1")
        until(b"WATCHDOG=1")
        received.clear()
        agent.process.send_signal(signal.SIGHUP)
        until(b"RELOADING=1\nMONOTONIC_USEC=")
        until(b"READY=1")
        agent.process.send_signal(signal.SIGTERM)
        until(b"STOPPING=1")
        assert agent.process.wait(60) == 0


def test_a_mistake_in_the_configuration_ends_the_start(start: Start) -> None:
    agent = start("collect: {intervall: 1s}")
    assert agent.process.wait(60) == 2
    assert agent.log_text() == (
        f"accelwatch: {agent.file}:1: collect.intervall: unknown key; did you mean interval?\n"
    )


def test_the_first_messages_are_in_the_configured_format(start: Start) -> None:
    agent = start(CONFIG + "state_dir: /proc/nowhere\nlog: {format: json}\n")
    agent.wait_for(agent.ready)
    records = [json.loads(line) for line in agent.log_text().splitlines()]
    assert any("state cannot be kept" in record["message"] for record in records)


def test_other_machines_are_not_let_in_by_accident(start: Start) -> None:
    agent = start('web: {listen_address: "0.0.0.0:0"}')
    assert agent.process.wait(60) == 2
    assert (
        "other machines can reach 0.0.0.0:0 and no client has to authenticate" in agent.log_text()
    )
    assert "--web.listen-any" in agent.log_text()


def test_an_address_in_use_ends_the_start(tmp_path: Path) -> None:
    config = tmp_path / "agent.yaml"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        config.write_text(f'web: {{listen_address: "{address}"}}\nstate_dir: {tmp_path}\n')
        with pytest.raises(AccelwatchError, match=f"cannot listen on {address}: Address already"):
            run_agent(config, {})


def test_config_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text("{}")
    assert config_check(file) == 0
    assert capsys.readouterr() == ("", f"accelwatch: {file}: ok\n")
    file.write_text("web: {config_file: web.yml}")
    with pytest.raises(ConfigError, match=r"web.yml: cannot be read"):
        config_check(file)
    (tmp_path / "web.yml").write_text("basic_auth_user: {}")
    with pytest.raises(ConfigError, match=r"web.yml:1: basic_auth_user: unknown key; did you mean"):
        config_check(file)


def test_a_hubs_file_is_checked_with_what_it_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "hub.yaml"
    file.write_text("scrape: {scrape_interval: 10s}\n")
    assert hub_config_check(file) == 0
    assert capsys.readouterr() == ("", f"accelwatch: {file}: ok\n")
    with pytest.raises(ConfigError, match=rf"--hub {re.escape(str(file))}$"):
        config_check(file)
    file.write_text("state: {slow_after: 20s}\n")
    with pytest.raises(ConfigError, match=r"hub.yaml:1: state"):
        hub_config_check(file)
    file.write_text("web: {config_file: web.yml}\n")
    with pytest.raises(ConfigError, match=r"web.yml: cannot be read"):
        hub_config_check(file)
    with pytest.raises(UsageError, match="config check --hub hub.yaml"):
        hub_config_check(None)


def test_an_agents_own_mistake_is_not_taken_for_a_hubs_file(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text("colect: {}\n")
    with pytest.raises(ConfigError) as refused:
        config_check(file)
    assert "hub" not in str(refused.value)


def test_config_show_and_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("ACCELWATCH_CONFIG_FILE", raising=False)
    file = tmp_path / "accelwatch" / "agent.yaml"
    file.parent.mkdir()
    file.write_text("log: {level: debug}")
    assert config_path() == 0
    assert capsysbinary.readouterr().out == f"{file}\n".encode()
    assert config_show(None) == 0
    assert f"level: debug  # {file}:1".encode() in capsysbinary.readouterr().out
