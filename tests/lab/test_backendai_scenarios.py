"""A scenario played on real servers of Backend.AI; `make backendai` runs it."""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelwatch_lab.cluster.lab import SPARE, Lab
from accelwatch_lab.cluster.processes import lab_processes
from accelwatch_lab.cluster.scenarios.report import Entry, ScenarioReport
from accelwatch_lab.cluster.scenarios.runner import run_scenario
from accelwatch_lab.cluster.scheduler import SchedulerKind
from support.backendai.real import needs_servers

pytestmark = needs_servers


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with tempfile.TemporaryDirectory(prefix="lab") as name:
        lab = Lab(Path(name) / "lab", SchedulerKind.BACKENDAI)
        lab.up()
        try:
            yield lab
        finally:
            lab.down()
        assert list(lab_processes(lab.folder, {})) == []


def test_a_session_goes_on_after_a_gpu_is_lost(lab: Lab) -> None:
    record = lab.record()
    assert record is not None
    shown: dict[str, str] = {}

    def note(_: ScenarioReport, entry: Entry) -> None:
        argv = lab.scheduler.shown_by
        shown[entry.what] = subprocess.check_output(argv, shell=True, text=True, timeout=60)

    played = run_scenario(lab, record, "lost-gpu", note)
    assert played.missing == []
    order = ("job", "fault", "drained", "requeued", "running", "progress", "mended", "released")
    words = [entry.what for entry in played.entries]
    assert [word for word in words if word in order] == list(order)
    texts = {entry.what: entry.text for entry in played.entries}
    assert SPARE in texts["running"]
    assert "the first after the checkpoint" in texts["progress"]
    _check_what_the_manager_shows(lab, shown)


def _check_what_the_manager_shows(lab: Lab, shown: dict[str, str]) -> None:
    """Which agent takes nothing and where the spare is, and all as it was in the end."""
    rows = {name: row for row in shown["running"].splitlines() for name in [row.split("\t")[0]]}
    assert sorted(rows) == sorted(lab.scheduler.names)
    assert [name for name, row in rows.items() if "not schedulable" in row] == ["n001"]
    assert rows[SPARE].split("\t")[1:3] == ["ALIVE", "default"]
    assert "not schedulable" not in shown["over"]
