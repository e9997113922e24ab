"""torchrun on a node is stopped while accelwatch calls the node critical."""

import contextlib
import importlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from accelwatch_lab.cluster.cached_programs import cached
from support.machines.nvml_stand_ins import NvmlScenario
from support.processes.waiting import GUARD_S, wait_until
from support.servers.agent_processes import AgentProcess

# Where `make torch` installs PyTorch, which needs a package index and some gigabytes.
TORCH_VERSION = "2.15.0"
TORCH = cached("torch", TORCH_VERSION)

ACCELWATCH = """\
#!/bin/sh
cd {folder}
case $1 in
check) echo "$*" >>checks; cat output; exit "$(cat code)" ;;
avoid) echo "$*" >>asked; cat avoided; exit 1 ;;
esac
"""
TORCHRUN = """\
#!/bin/sh
cd {folder}
trap '{on_term}' TERM
echo "started $*" >>runs
echo "$TORCH_DISABLE_SHARE_RDZV_TCP_STORE" >store
while [ ! -e finish ]; do sleep 0.02; done
exit "$(cat finish)"
"""
STOPS = "echo stopped >>runs; exit 1"


class Site:
    """A node with stand-ins for both programs, each answering what the test has written."""

    def __init__(self, folder: Path, examples: Path) -> None:
        self.folder, self.program = folder, examples / "torchrun-elastic" / "elastic_node.py"
        self.log = folder / "log"
        self.says("ok", 0)
        self.avoided("")
        self.install("accelwatch", ACCELWATCH.format(folder=folder))
        self.install("torchrun", TORCHRUN.format(folder=folder, on_term=STOPS))
        self._stack = contextlib.ExitStack()

    def install(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    def write(self, name: str, text: str) -> None:
        (self.folder / f"{name}.new").write_text(text)
        (self.folder / f"{name}.new").replace(self.folder / name)

    def says(self, output: str, code: int) -> None:
        self.write("output", f"{output}\n")
        self.write("code", str(code))

    def avoided(self, names: str) -> None:
        self.write("avoided", names)

    def ends(self, code: int) -> None:
        """Have torchrun end by itself."""
        self.write("finish", str(code))

    def runs(self) -> list[str]:
        file = self.folder / "runs"
        return [line.split()[0] for line in file.read_text().splitlines()] if file.exists() else []

    def start(self, *options: str) -> subprocess.Popen[bytes]:
        words = [sys.executable, str(self.program), "--every", "0.05", "--healthy-for", "0.1"]
        words += ["--accelwatch", str(self.folder / "accelwatch"), *options]
        log: IO[bytes] = self._stack.enter_context(self.log.open("wb"))
        process = subprocess.Popen(
            [*words, "--", str(self.folder / "torchrun"), "--nnodes=1:2", "train.py"], stdout=log
        )
        self._stack.callback(process.wait, GUARD_S)
        self._stack.callback(process.send_signal, signal.SIGTERM)
        return process

    def close(self) -> None:
        """End what still runs."""
        self.ends(0)
        self._stack.close()


@pytest.fixture
def site(tmp_path: Path, examples: Path) -> Iterator[Site]:
    made = Site(tmp_path, examples)
    yield made
    made.close()


def some_checks(site: Site) -> None:
    """Return once some more checks have ended."""
    file = site.folder / "checks"

    def count() -> int:
        return len(file.read_text().splitlines()) if file.exists() else 0

    enough = count() + 3
    wait_until(lambda: count() >= enough)


def test_the_exit_code_of_torchrun_is_handed_on(site: Site) -> None:
    node = site.start()
    wait_until(site.runs)
    assert (site.folder / "runs").read_text() == "started --nnodes=1:2 train.py\n"
    site.ends(7)
    assert node.wait(GUARD_S) == 7
    # With a shared store no node can join later.
    assert (site.folder / "store").read_text() == "1\n"


@pytest.mark.parametrize("code", [0, 1, 3, 127])
def test_only_a_critical_node_leaves(site: Site, code: int) -> None:
    site.says("the agent does not answer", code)
    site.start()
    wait_until(site.runs)
    some_checks(site)
    assert site.runs() == ["started"]


def test_a_check_that_cannot_run_is_no_reason(site: Site) -> None:
    node = site.start("--accelwatch", str(site.folder / "missing"))
    wait_until(site.runs)
    site.ends(0)
    assert node.wait(GUARD_S) == 0
    assert site.runs() == ["started"]


def test_a_critical_node_leaves_and_joins_again(site: Site) -> None:
    node = site.start("--agent", "127.0.0.1:9999")
    wait_until(site.runs)
    site.says("ACCELWATCH CRITICAL - n2 nvidia3: lost", 2)
    wait_until(lambda: site.runs() == ["started", "stopped"])
    some_checks(site)
    assert site.runs() == ["started", "stopped"]
    site.says("ok", 0)
    wait_until(lambda: site.runs() == ["started", "stopped", "started"])
    site.ends(0)
    assert node.wait(GUARD_S) == 0
    assert site.log.read_text().splitlines() == [
        "elastic_node: leaves the job: ACCELWATCH CRITICAL - n2 nvidia3: lost",
        "elastic_node: waits: ACCELWATCH CRITICAL - n2 nvidia3: lost",
    ]
    assert "--agent 127.0.0.1:9999" in (site.folder / "checks").read_text()


def test_a_node_that_is_critical_at_the_start_waits(site: Site) -> None:
    site.says("critical", 2)
    site.start()
    some_checks(site)
    assert site.runs() == []
    site.says("ok", 0)
    wait_until(site.runs)


def test_a_node_that_its_hub_has_taken_out_leaves(site: Site) -> None:
    site.start("--hub", "https://hub.example.net:9878", "--node", "n2")
    site.avoided("n1\nn22\n")
    wait_until(site.runs)
    some_checks(site)
    assert site.runs() == ["started"]
    site.avoided("n1\nn2\n")
    wait_until(lambda: site.runs() == ["started", "stopped"])
    asked = (site.folder / "asked").read_text().splitlines()[0]
    assert asked == (
        "avoid --hub https://hub.example.net:9878 --reason quarantined --format hostfile"
    )
    assert "has taken n2 out" in site.log.read_text()


def test_a_hub_needs_the_name_of_the_node(site: Site) -> None:
    assert site.start("--hub", "https://hub.example.net:9878").wait(GUARD_S) == 2


def test_a_signal_is_handed_to_torchrun(site: Site) -> None:
    node = site.start()
    wait_until(site.runs)
    node.send_signal(signal.SIGTERM)
    assert node.wait(GUARD_S) == 1  # the exit code of the stand-in
    assert site.runs() == ["started", "stopped"]


def test_a_signal_ends_a_node_that_waits(site: Site) -> None:
    site.says("critical", 2)
    node = site.start()
    some_checks(site)
    node.send_signal(signal.SIGTERM)
    assert node.wait(GUARD_S) == 128 + signal.SIGTERM


def test_a_torchrun_that_does_not_end_is_killed(site: Site) -> None:
    site.install("torchrun", TORCHRUN.format(folder=site.folder, on_term="echo ignored >>runs"))
    site.start("--stop-timeout", "0.1")
    wait_until(site.runs)
    site.says("critical", 2)
    wait_until(lambda: "elastic_node: waits" in site.log.read_text())
    assert site.runs() == ["started", "ignored"]


def test_a_signal_that_ends_torchrun_is_its_exit_code(site: Site) -> None:
    site.install("torchrun", "#!/bin/sh\nkill -KILL $$\n")
    assert site.start().wait(GUARD_S) == 128 + signal.SIGKILL


def test_a_node_leaves_when_its_agent_reports_a_lost_device(site: Site, tmp_path: Path) -> None:
    driver = NvmlScenario.of(tmp_path / "node.scenario", "h100x8")
    driver.write()
    config = (
        "collect: {backends: [nvidia], interval: 200ms}\n"
        f"rules: {{packs: [nvidia]}}\nstate_dir: '{tmp_path / 'state'}'\n"
    )
    agent = AgentProcess(tmp_path, config, driver.environment())
    try:
        agent.wait_for(agent.ready)
        program = f"{sys.executable} -m accelwatch"
        site.start("--accelwatch", program, "--agent", agent.address)
        wait_until(site.runs)
        driver.lose(3).write()
        wait_until(lambda: site.runs() == ["started", "stopped"])
        assert "nvidia3: A GPU has fallen off the bus" in site.log.read_text()
    finally:
        agent.kill()


@pytest.fixture
def checkpoints(examples: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(examples / "torchrun-elastic"))
    return importlib.import_module("checkpoints")


def test_the_newest_checkpoint_is_that_of_the_highest_step(
    checkpoints: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "made"
    assert checkpoints.newest(folder) is None
    for step in (9, 10, 100, 20):
        checkpoints.save(folder, step, lambda file, step=step: file.write(b"%d" % step))
    assert checkpoints.newest(folder).read_bytes() == b"100"
    assert sorted(file.name for file in folder.iterdir()) == ["step-10", "step-100", "step-20"]


def test_a_checkpoint_that_is_not_complete_does_not_count(checkpoints: Any, tmp_path: Path) -> None:
    def breaks_off(file: IO[bytes]) -> None:
        file.write(b"half")
        raise OSError("full")

    checkpoints.save(tmp_path, 1, lambda file: file.write(b"1"))
    with pytest.raises(OSError, match="full"):
        checkpoints.save(tmp_path, 2, breaks_off)
    (tmp_path / "step-3.part").touch()
    assert checkpoints.newest(tmp_path) == tmp_path / "step-1"


@pytest.mark.skipif(
    not (TORCH / ".installed").exists(), reason=f"PyTorch is not in {TORCH}: make torch"
)
def test_training_continues_without_the_node_that_lost_a_device(
    examples: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        [
            sys.executable,
            str(examples / "torchrun-elastic" / "two_nodes.py"),
            f"--torchrun={TORCH / 'bin' / 'torchrun'}",
            f"--accelwatch={Path(sys.executable).with_name('accelwatch')}",
            f"--folder={tmp_path / 'tried'}",
        ],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    _, _, leaves, continues, reached = done.stdout.splitlines()
    assert "nvidia3: A GPU has fallen off the bus" in leaves
    step = int(continues.removeprefix("one node trains on after step "))
    assert step > 0
    assert reached == f"it has reached step {step + 30}"
