"""Scenarios played on Kubernetes on the stand-in API server alone: each takes half a minute."""

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
    with tempfile.TemporaryDirectory(prefix="lab") as name, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", name)
        running = Lab(Path(name) / "lab", SchedulerKind.KUBERNETES)
        running.up()
        try:
            yield running
        finally:
            running.down()
        assert list(lab_processes(running.folder, {})) == []


def played(lab: Lab, name: str) -> tuple[ScenarioReport, list[str]]:
    """A scenario, and the words of its timeline in the order in which they were observed."""
    words: list[str] = []

    def note(_: ScenarioReport, entry: Entry) -> None:
        words.append(entry.what)

    record = lab.record()
    assert record is not None
    return run_scenario(lab, record, name, note), words


def test_a_job_goes_on_while_the_api_server_hangs_in_between(lab: Lab) -> None:
    report, words = played(lab, "controller-away")
    assert report.missing == []
    order = ["hangs", "fault", "away", "back", "drained", "requeued", "running", "released"]
    assert [word for word in words if word in order] == order
    (runs,) = (entry.text for entry in report.entries if entry.what == "running")
    assert SPARE in runs


def test_without_a_spare_the_job_waits_for_the_first_node(lab: Lab) -> None:
    report, words = played(lab, "spare-used-up")
    assert report.missing == []
    assert words.index("no spare") < words.index("released") < words.index("over")


def test_a_storm_takes_no_more_nodes_out_than_the_budget_allows(lab: Lab) -> None:
    """The last one: it leaves a lab that has to be begun anew."""
    report, words = played(lab, "storm")
    assert report.missing == []
    assert words[-1] == "over"
    (storm,) = (entry.text for entry in report.entries if entry.what == "storm")
    assert "nodes at once" in storm
