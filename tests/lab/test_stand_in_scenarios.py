"""Scenarios played without Slurm: the stand-in, a hub that calls its hooks, and simulated agents."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelwatch_lab.cluster.lab import SPARE, Lab
from accelwatch_lab.cluster.processes import lab_processes
from accelwatch_lab.cluster.scenarios.report import Entry, ScenarioReport
from accelwatch_lab.cluster.scenarios.runner import run_scenario
from accelwatch_lab.cluster.scheduler import SchedulerKind


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with tempfile.TemporaryDirectory(prefix="lab") as name:
        one = Lab(Path(name) / "lab", SchedulerKind.STAND_IN)
        steps: list[tuple[int, int, str]] = []
        one.up(lambda *step: steps.append(step))
        assert [(done, total) for done, total, _ in steps] == [(done, 5) for done in range(5)]
        assert steps[-1][2] == "waiting until the hub acts"
        try:
            yield one
        finally:
            one.down()
        assert list(lab_processes(one.folder, {})) == []


def played(lab: Lab, name: str) -> tuple[ScenarioReport, list[str]]:
    """A scenario, and the words of its timeline in the order in which they were told."""
    words: list[str] = []

    def report(_: ScenarioReport, entry: Entry) -> None:
        words.append(entry.what)

    record = lab.record()
    assert record is not None
    return run_scenario(lab, record, name, report), words


def test_a_job_goes_on_while_the_scheduler_hangs_in_between(lab: Lab) -> None:
    report, words = played(lab, "controller-away")
    assert report.missing == []
    order = ["hangs", "fault", "away", "back", "drained", "requeued", "running", "released"]
    assert [word for word in words if word in order] == order
    assert report.recovered_s is not None
    (runs,) = (entry.text for entry in report.entries if entry.what == "running")
    assert SPARE in runs


def test_a_job_leaves_a_node_that_hangs_only_after_its_old_copy_is_dead(lab: Lab) -> None:
    report, words = played(lab, "hung-node")
    assert report.missing == []
    order = ["drained", "fenced", "running", "mended", "released"]
    assert [word for word in words if word in order] == order
