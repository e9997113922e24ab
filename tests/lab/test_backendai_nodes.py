"""A lab's nodes and job on Backend.AI: how they are shown, who is recorded, what is not played."""

import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.base.errors import UnmetError, UsageError
from accelwatch.cli.startup.app import invoke
from accelwatch_backendai.api.specification_files import read_specification
from accelwatch_backendai.settings.specification_rules import SpecificationRule
from accelwatch_lab.cluster.backendai.servers.workers import record_worker, worker_of
from accelwatch_lab.cluster.backendai.showing import job_shown, node_shown
from accelwatch_lab.cluster.backendai.specifications import write_specifications
from accelwatch_lab.cluster.processes import Processes
from accelwatch_lab.cluster.starts import count_start, starts_of
from accelwatch_lab.cluster.waiting import until

# A supervisor with two children, one of which has the title of a worker.
_SUPERVISOR = """\
import subprocess, sys, time
code = "import time; time.sleep(600)"
subprocess.Popen([sys.executable, "-c", code])
subprocess.Popen(["agent worker-0", "-c", code], executable=sys.executable)
time.sleep(600)
"""


def agent(*, schedulable: bool = True, status: str = "ALIVE") -> dict[str, Any]:
    return {"id": "n1", "status": status, "schedulable": schedulable}


def session(status: str, *agents: str) -> dict[str, Any]:
    return {"status": status, "containers": [{"agent": name} for name in agents]}


def test_an_agent_is_shown_in_the_words_of_a_lab() -> None:
    assert node_shown(agent(), busy=False) == (("IDLE",), "")
    assert node_shown(agent(), busy=True).states == ("ALLOCATED",)
    out = node_shown(agent(schedulable=False), busy=True)
    assert (out.states, out.ours) == (("ALLOCATED", "DRAIN"), True)
    lost = node_shown(agent(status="LOST"), busy=True)
    assert (lost.states, lost.out) == (("ALLOCATED", "NOT_RESPONDING"), False)
    assert node_shown(agent(status="LOST"), busy=False, off=True).out
    assert node_shown(agent(status="TERMINATED"), busy=False).states == ("IDLE", "DOWN")


def test_a_job_is_its_newest_session() -> None:
    assert job_shown([session("PENDING", "")], 0) == ("PENDING", (), 0)
    first, second = session("TERMINATED", "n1", "n2"), session("RUNNING", "n4", "n2")
    assert job_shown([first], 1) == ("TERMINATED", (), 0)
    assert job_shown([first, second], 1) == ("RUNNING", ("n2", "n4"), 1)
    # The manager has forgotten the first.
    assert job_shown([second], 2).restarts == 1


def test_starts_of_a_job_are_counted(tmp_path: Path) -> None:
    assert starts_of(tmp_path, "j") == 0
    assert [count_start(tmp_path, "j"), count_start(tmp_path, "j")] == [0, 1]
    assert starts_of(tmp_path, "j") == 2


def test_who_does_the_work_is_recorded(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    # In a file: a child that has not executed its program yet has the arguments of the supervisor.
    (tmp_path / "supervisor.py").write_text(_SUPERVISOR)
    processes.start("agent", (sys.executable, str(tmp_path / "supervisor.py")))
    try:
        record_worker(processes, "agent")
        (pid,) = (record.pid for record in processes.running() if record.name == worker_of("agent"))
        title = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
        assert title == b"agent worker-0"
    finally:
        processes.stop(grace_s=0)
    until(lambda: not processes.running(), "all have ended")


@pytest.mark.parametrize("version", ["26.4.0", "26.9.6"])
def test_a_manager_that_shows_specifications_needs_no_file(version: str, tmp_path: Path) -> None:
    assert write_specifications(version, tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_before_26_4_a_file_says_how_sessions_were_made(tmp_path: Path) -> None:
    (entry,) = write_specifications("26.1.0", tmp_path)
    rule = msgspec.convert(entry, SpecificationRule)
    assert rule.fits(name="job-1", tag="", project="default")
    assert not rule.fits(name="notebook", tag="", project="default")
    written = read_specification(Path(rule.file))
    assert (written.environ, written.batch_timeout) == ({}, "7d")
    assert Path(rule.file).stat().st_mode & 0o777 == 0o600


def test_where_the_servers_cannot_be_started_it_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    arguments = ["lab", "up", "--scheduler", "backendai", "--folder", str(tmp_path / "lab")]
    with pytest.raises(UnmetError, match=r"Backend.AI cannot be started: .*make backendai"):
        invoke(arguments)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(UnmetError, match=r"Backend.AI cannot be started: only root"):
        invoke(arguments)


def test_what_means_nothing_with_a_scheduler_is_not_played(tmp_path: Path) -> None:
    arguments = ["lab", "run", "admin-in-between", "--scheduler", "backendai"]
    with pytest.raises(UsageError, match=r"not played with Backend.AI .*: .*does not record"):
        invoke([*arguments, "--folder", str(tmp_path / "lab")])
    assert not (tmp_path / "lab").exists()
