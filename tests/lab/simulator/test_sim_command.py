"""The command in a process of its own."""

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from accelwatch.base.clock import ManualClock
from accelwatch.cli.trial.sim import SimPlan, build_fleet, server_of
from accelwatch.fleet.targets.files import read_targets
from accelwatch_lab.simulator.conditions import NodeCondition
from support.processes.waiting import GUARD_S

PROGRAM = """
import sys
from accelwatch.cli.startup.entry import guarded
from accelwatch.cli.trial.sim import sim_command
def run():
    try:
        sim_command.main(args=sys.argv[1:])
    except SystemExit as end:
        return end.code
sys.exit(guarded(run))
"""


def start(*words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, *words]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("ports", ["one", "many"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_targets_are_written_once_it_serves_and_a_signal_ends_it(
    tmp_path: Path, ports: str, number: signal.Signals
) -> None:
    file = tmp_path / "targets.json"
    words = ("--nodes", "5", "--listen", "127.0.0.1:0", "--ports", ports)
    process = start(*words, "--print-targets", str(file))
    try:
        assert process.stderr is not None
        assert "serving 5 simulated nodes" in process.stderr.readline()
        groups = json.loads(file.read_text())
        assert [group["labels"]["node"] for group in groups] == [f"n00{n}" for n in range(1, 6)]
        found = read_targets(file)
        assert [target.node for target in found] == [group["labels"]["node"] for group in groups]
        for target in found:
            with urllib.request.urlopen(target.metrics_url) as answer:
                assert answer.status == 200
        assert len({target.address for target in found}) == (1 if ports == "one" else 5)
        assert [one.name for one in tmp_path.iterdir()] == ["targets.json"]
        process.send_signal(number)
        assert process.wait(GUARD_S) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--listen", "0.0.0.0:0"), "can be reached by other machines; add --listen-any"),
        (("--listen", "here"), "is not a valid listen address"),
        (("--nodes", "100", "--listen", "127.0.0.1:65500"), "use --ports one"),
        (("--scenario", "/nowhere.yaml"), "/nowhere.yaml: cannot be read"),
        (("--print-targets", "/nowhere/t.json"), "/nowhere/t.json: cannot be written"),
        (("--interval", "soon"), "'soon' is not a valid duration"),
    ],
)
def test_a_mistake_is_reported_in_a_line(words: tuple[str, ...], message: str) -> None:
    process = start("--nodes", "2", "--listen", "127.0.0.1:0", *words)
    _, stderr = process.communicate(timeout=GUARD_S)
    assert process.returncode != 0
    assert message in stderr
    assert "Traceback" not in stderr


def test_clocks_of_nodes_are_right_though_starting_takes_time() -> None:
    clock = ManualClock(wall=1.79e9)
    plan = SimPlan(nodes=1)
    fleet = build_fleet(plan, clock)
    clock.advance(3.0)
    server = server_of(fleet, clock)
    assert fleet.wall(server.now(), NodeCondition()) == clock.wall()
