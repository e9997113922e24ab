"""Scenarios that are really played: a Slurm, a hub and simulated agents, once for all of them."""

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelwatch_lab.cluster.lab import SPARE, Lab
from accelwatch_lab.cluster.processes import lab_processes
from accelwatch_lab.cluster.scenarios.report import Entry, ScenarioReport
from accelwatch_lab.cluster.scenarios.runner import run_scenario
from accelwatch_lab.cluster.slurm.installed import missing
from accelwatch_lab.cluster.slurm.step_counter import lines_of
from support.slurm.lab_cluster import until

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"not installed: {', '.join(missing())}")


@pytest.fixture(scope="module")
def existing_lab() -> Iterator[Lab]:
    """Where the lab is."""
    # A short path: munged's socket lies in it.
    with tempfile.TemporaryDirectory(prefix="lab") as name:
        one = Lab(Path(name) / "lab")
        try:
            yield one
        finally:
            one.down()


@pytest.fixture
def lab(existing_lab: Lab) -> Lab:
    """A lab that runs: the one of the test before, unless that took it down."""
    if existing_lab.record() is None:
        existing_lab.up()
    return existing_lab


def played(lab: Lab, name: str) -> tuple[ScenarioReport, list[str]]:
    """A scenario, and the words of its timeline in the order in which they were told."""
    words: list[str] = []

    def report(_: ScenarioReport, entry: Entry) -> None:
        words.append(entry.what)

    record = lab.record()
    assert record is not None
    return run_scenario(lab, record, name, report), words


def test_a_job_goes_on_after_a_gpu_is_lost(lab: Lab) -> None:
    report, words = played(lab, "lost-gpu")
    assert report.missing == []
    order = ["job", "fault", "drained", "requeued", "running", "progress", "mended", "released"]
    assert [word for word in words if word in order] == order
    assert report.recovered_s is not None
    texts = {entry.what: entry.text for entry in report.entries}
    assert SPARE in texts["running"]
    assert "the first after the checkpoint" in texts["progress"]
    document = json.loads(json.dumps(report.document()))
    times = [row["at_s"] for row in document["timeline"]]
    assert document["ended_well"]
    assert times == sorted(times)


def test_a_job_leaves_a_node_that_hangs_only_after_its_old_copy_is_dead(lab: Lab) -> None:
    report, words = played(lab, "hung-node")
    assert report.missing == []
    order = ["drained", "requeued", "fenced", "running", "mended", "released"]
    assert [word for word in words if word in order] == order
    texts = {entry.what: entry.text for entry in report.entries}
    assert " fenced A node is silent" in texts["fenced"]
    assert SPARE in texts["running"]


def test_a_node_that_an_administrator_takes_over_is_left_alone(lab: Lab) -> None:
    report, words = played(lab, "admin-in-between")
    assert report.missing == []
    assert words.index("left alone") < words.index("quiet") < words.index("over")
    assert "released" not in words


def test_a_storm_takes_no_more_nodes_out_than_the_budget_allows(lab: Lab) -> None:
    report, words = played(lab, "storm")
    assert report.missing == []
    assert words[-1] == "over"
    (storm,) = (entry.text for entry in report.entries if entry.what == "storm")
    assert "nodes at once" in storm


def test_down_ends_everything_after_a_run_was_killed(lab: Lab) -> None:
    words = (sys.executable, "-m", "accelwatch", "lab")
    where = ("--folder", str(lab.folder))

    def jobs() -> list[int]:
        """Numbers of those that there have been; the folder comes with the first."""
        return [int(job.name) for job in (lab.folder / "jobs").glob("*")]

    before = len(jobs())
    with subprocess.Popen(
        [sys.executable, "-c", _SUBMIT, str(lab.folder)], start_new_session=True
    ) as run:
        until(lambda: len(jobs()) > before, "a job has begun")
        run.kill()
    job = str(max(jobs()))
    until(lambda: bool(lines_of(lab.folder, job)), "its job runs on")
    # Worst case: the controller hangs as well, and a file of a pid is gone.
    assert lab.processes.signal("slurmctld", signal.SIGSTOP)
    (lab.folder / "pids/alerts.json").unlink()
    done = subprocess.run([*words, "down", *where], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "processes stopped" in done.stderr
    assert list(lab_processes(lab.folder, {})) == []
    assert not lab.folder.exists()
    again = subprocess.run([*words, "down", *where], capture_output=True, text=True, check=False)
    assert (again.returncode, again.stderr) == (
        0,
        f"accelwatch: no lab is running in {lab.folder}\n",
    )


_SUBMIT = """\
import sys, time
from pathlib import Path
from accelwatch_lab.cluster.lab import Lab
lab = Lab(Path(sys.argv[1]))
lab.scheduler.submit(2)
time.sleep(600)
"""
