"""Scenarios played on Kubernetes: on the stand-in API server, and on real servers where they are."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accelwatch_lab.cluster.kubernetes.installed import NAMES, programs
from accelwatch_lab.cluster.lab import SPARE, Lab
from accelwatch_lab.cluster.processes import lab_processes
from accelwatch_lab.cluster.scenarios.report import Entry, ScenarioReport
from accelwatch_lab.cluster.scenarios.runner import run_scenario
from accelwatch_lab.cluster.scheduler import SchedulerKind

needs_servers = pytest.mark.skipif(
    programs() is None, reason=f"not in the cache: {', '.join(NAMES)}"
)


@pytest.fixture(scope="module", params=["stand-in", pytest.param("real", marks=needs_servers)])
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    with tempfile.TemporaryDirectory(prefix="lab") as name, pytest.MonkeyPatch.context() as patch:
        if request.param == "stand-in":
            patch.setenv("XDG_CACHE_HOME", name)
        one = Lab(Path(name) / "lab", SchedulerKind.KUBERNETES)
        one.up()
        try:
            yield one
        finally:
            one.down()
        assert list(lab_processes(one.folder, {})) == []


class Played:
    """A scenario, what was told of it, and what kubectl printed at each line."""

    def __init__(self, lab: Lab, name: str) -> None:
        self._lab = lab
        self.words: list[str] = []
        self.printed: dict[str, str] = {}
        record = lab.record()
        assert record is not None
        self.report = run_scenario(lab, record, name, self._note)

    def _note(self, _: ScenarioReport, entry: Entry) -> None:
        self.words.append(entry.what)
        if shutil.which("kubectl"):
            self.printed[entry.what] = kubectl(self._lab, "get", "nodes,pods,events")

    def order(self, *words: str) -> list[str]:
        """Those of some words that there are, in the order in which they were told."""
        return [word for word in self.words if word in words]


def kubectl(lab: Lab, *words: str) -> str:
    """What it prints."""
    file = lab.folder / "kubernetes" / "admin.kubeconfig"
    argv = ("kubectl", f"--kubeconfig={file}", *words)
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True).stdout


def document(lab: Lab, *words: str) -> Any:
    """What it prints as JSON."""
    return json.loads(kubectl(lab, *words, "-o", "json"))


def test_a_job_goes_on_after_a_gpu_is_lost(lab: Lab) -> None:
    played = Played(lab, "lost-gpu")
    assert played.report.missing == []
    order = ("job", "fault", "drained", "requeued", "running", "progress", "mended", "released")
    assert played.order(*order) == list(order)
    texts = {entry.what: entry.text for entry in played.report.entries}
    assert "accelwatch:" in texts["drained"]
    assert SPARE in texts["running"]
    assert "the first after the checkpoint" in texts["progress"]
    if played.printed:
        _check_what_kubectl_shows(lab, played)


def _check_what_kubectl_shows(lab: Lab, played: Played) -> None:
    """What was wrong while it was so, and no mark of ours in the end."""
    assert all(f"node/{name}   Ready" in played.printed["drained"] for name in lab.scheduler.names)
    assert "LabGpuLost" in played.printed["running"]
    assert "pod/job-" in played.printed["running"]
    node = document(lab, "get", "node", "n001")
    conditions = {each["type"]: each["status"] for each in node["status"]["conditions"]}
    assert conditions["Ready"] == "True"
    assert "AcceleratorHealthy" in conditions
    assert not node["spec"].get("taints")
    assert not any(key.startswith("accelwatch.io/hold") for key in node["metadata"]["annotations"])
    spare = document(lab, "get", "node", SPARE)
    assert [taint["key"] for taint in spare["spec"]["taints"]] == ["accelwatch.io/spare"]


def test_a_job_leaves_a_node_that_hangs_only_after_its_old_copy_is_dead(lab: Lab) -> None:
    played = Played(lab, "hung-node")
    assert played.report.missing == []
    order = ("drained", "fenced", "running", "mended", "released")
    assert played.order(*order) == list(order)


def test_a_node_that_an_administrator_takes_over_is_left_alone(lab: Lab) -> None:
    played = Played(lab, "admin-in-between")
    assert played.report.missing == []
    words = played.words
    assert words.index("left alone") < words.index("quiet") < words.index("over")
    assert "released" not in words
