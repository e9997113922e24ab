"""The agent's collector is a fork that was made early: what it inherits and what follows it."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from accelwatch.cli.startup.main import main
from accelwatch.node.sampler import early
from node.sampler.test_early import loaded_by, output_of
from support.machines.nvml_stand_ins import NvmlScenario
from support.processes.process_states import has_ended, status_of
from support.processes.waiting import wait_until
from support.servers.agent_processes import AgentProcess

Start = Callable[..., AgentProcess]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is looked at")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts agents of eight devices; all are ended after the test."""
    started: list[AgentProcess] = []
    scenario = NvmlScenario.of(tmp_path / "s.scenario", "h100x8")
    scenario.write()

    def _start(config: str = "log: {level: info}", **environ: str) -> AgentProcess:
        one = AgentProcess(tmp_path, config, {**scenario.environment(), **environ})
        started.append(one)
        one.wait_for(one.ready)
        return one

    yield _start
    for one in started:
        one.kill()


def collectors(agent: AgentProcess) -> list[int]:
    pid = agent.process.pid
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split() if _is_collector(int(word))]


def _is_collector(pid: int) -> bool:
    """Neither has ended nor is a vendor's command."""
    try:
        return b"accelwatch" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


def opened_by(pid: int) -> list[str]:
    """What a process has open, without what it closes meanwhile."""
    found = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(str(link.readlink()))
    return found


@pytest.mark.parametrize(
    ("words", "started"),
    [
        (["agent"], True),
        (["agent", "--interval", "1s"], True),
        (["agent", "--help"], False),
        (["agent", "-h"], False),
        (["hub"], False),
        (["config", "agent"], False),
    ],
)
def test_it_is_started_before_the_command_line_is_read(
    words: list[str], started: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds: list[bool] = []
    monkeypatch.setattr(sys, "argv", ["accelwatch", *words])
    monkeypatch.setattr("accelwatch.cli.startup.entry.dispatch", lambda _: 0)
    monkeypatch.setattr("accelwatch.cli.startup.entry.leave", lambda _: None)
    monkeypatch.setattr("accelwatch.system.daemon.privacy.new_files_for_ourselves", lambda: None)
    monkeypatch.setattr("accelwatch.system.daemon.memory.use_single_arena", lambda: None)
    monkeypatch.setattr(early, "start", lambda *, lasting=False: kinds.append(lasting))
    main()
    assert kinds == [True] * started


def test_a_shell_that_completes_starts_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_ACCELWATCH_COMPLETE", "complete_bash")
    monkeypatch.setattr(early, "start", pytest.fail)
    monkeypatch.setattr(sys, "argv", ["accelwatch", "agent"])
    monkeypatch.setattr("accelwatch.cli.startup.entry.dispatch", lambda _: 0)
    monkeypatch.setattr("accelwatch.cli.startup.entry.leave", lambda _: None)
    main()


def test_it_is_a_fork_with_nothing_of_the_server(start: Start) -> None:
    agent = start()
    (collector,) = collectors(agent)
    owner = Path(f"/proc/{agent.process.pid}/cmdline").read_bytes()
    assert Path(f"/proc/{collector}/cmdline").read_bytes() == owner
    status = status_of(collector)
    assert status is not None
    assert status["Umask"] == "0077"
    assert Path(f"/proc/{collector}/oom_score_adj").read_text() == "1000\n"
    assert int(status["SigIgn"], 16) & 1 << (signal.SIGINT - 1)
    targets = opened_by(collector)
    assert not any(target.startswith("socket:") for target in targets)
    assert not any(target.startswith(str(agent.folder / "state")) for target in targets)
    assert agent.log_text().count("listening address=") == 1


def test_the_collector_has_no_openssl(start: Start) -> None:
    agent = start()
    assert "accel_device_up" in agent.get("/metrics")
    for process in collectors(agent):
        mapped = Path(f"/proc/{process}/maps").read_text()
        assert "msgspec" in mapped
        assert not any(name in mapped for name in ("libcrypto", "libssl", "_ssl.", "_hashlib."))


def test_one_that_crashes_is_replaced_by_a_program_of_its_own(start: Start) -> None:
    agent = start()
    (first,) = collectors(agent)
    os.kill(first, signal.SIGKILL)
    agent.wait_for(lambda: [one for one in collectors(agent) if one != first] != [])
    (second,) = collectors(agent)
    agent.wait_for(
        lambda: b"accelwatch.node.sampler.child" in Path(f"/proc/{second}/cmdline").read_bytes()
    )
    agent.wait_for(lambda: "accel_device_up{" in agent.get("/metrics"))
    assert agent.log_text().count("collector ended code=SIGKILL") == 1


def test_it_ends_with_an_agent_that_is_killed(start: Start) -> None:
    agent = start()
    (collector,) = collectors(agent)
    agent.process.kill()
    agent.process.wait(60)
    wait_until(lambda: has_ended(collector))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--config.file=/nonexistent/agent.yaml"], "cannot be read"),
        (["--interval=nonsense"], "--interval"),
        (["--nonsense"], "no such option"),
        (["--web.listen-address=127.0.0.1:0", "--web.unix-socket=/nonexistent/s"], "cannot listen"),
    ],
)
def test_a_mistake_ends_both_and_is_reported_once(
    tmp_path: Path, words: list[str], message: str
) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "accelwatch", "agent", f"--state-dir={tmp_path}", *words],
        capture_output=True,  # until nobody holds them any more
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode in (1, 2)
    assert run.stderr.count(message) == 1
    assert run.stdout == ""


RUNTIME = (
    "import accelwatch.agent.runtime, accelwatch.agent.stream, accelwatch.archive.blackbox.freezer"
)
COLLECTOR = (
    "import accelwatch.node.sampler.child, accelwatch_nvidia.backend, accelwatch_host.backend\n"
    "import accelwatch_kernel_log.backend, pynvml"
)


def test_what_agent_and_collector_need_is_loaded_before_the_fork() -> None:
    shared = "early.load_more_shared()\nshared = set(sys.modules)\n"
    owner = loaded_by(shared + RUNTIME)
    collector = loaded_by(shared + COLLECTOR)
    assert "accelwatch.agent.runtime" in owner
    assert "accelwatch.node.sampler.collector" in collector
    assert {name for name in owner & collector if not name.startswith("_")} <= {"bisect", "pwd"}


def test_nothing_is_collected_that_was_loaded_before_the_fork() -> None:
    program = (
        "import gc\n"
        "from accelwatch.node.sampler import early\n"
        "early.start(lasting=True)\n"
        "frozen = gc.get_freeze_count()\n"
        "print(frozen > 1000, gc.isenabled())\n"
        "import os; os.close(early.hand_over(lasting=True)[2])\n"
    )
    assert output_of(program) == "True False\n"


@pytest.mark.parametrize("closed", ["<&- >&- 2>&-", ">&- 2>&-", "<&- >&-", "<&-", ">&-", "2>&-"])
def test_it_reads_whichever_standard_files_are_closed(tmp_path: Path, closed: str) -> None:
    scenario = NvmlScenario.of(tmp_path / "s.scenario", "h100x8")
    scenario.write()
    socket_path = tmp_path / "agent.socket"
    words = [sys.executable, "-m", "accelwatch", "agent", "--web.listen-address=127.0.0.1:0"]
    words += [f"--web.unix-socket={socket_path}", f"--state-dir={tmp_path}"]
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *words]
    with subprocess.Popen(shell, env={**os.environ, **scenario.environment()}) as agent:
        try:
            wait_until(
                lambda: 'accel_collector_up{collector="nvidia"} 1' in metrics_by(socket_path)
            )
        finally:
            agent.kill()


def metrics_by(path: Path) -> str:
    """The metrics behind a Unix socket; nothing while nothing is listening."""
    with socket.socket(socket.AF_UNIX) as one:
        try:
            one.connect(str(path))
            one.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return b"".join(iter(lambda: one.recv(1 << 16), b"")).decode()
        except OSError:
            return ""
