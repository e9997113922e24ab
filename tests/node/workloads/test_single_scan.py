"""Owners of devices for a single reading."""

import json
import threading
from pathlib import Path

import pytest

from accelwatch.node.workloads import Workloads
from accelwatch.node.workloads.one_shot_lookup import OneShotLookup
from node.workloads.annotation import IN_JOB, owners, process, with_processes
from node.workloads.fake_node import FakeNode
from support.machines.composed import device, snapshot, view
from support.machines.packed_trees import FakeTree
from support.processes.warm_command import accelwatch

VARIABLES = {
    "SLURM_JOB_ID": "7",
    "SLURM_JOB_USER": "ada",
    "SLURM_JOB_PARTITION": "h100",
    "SLURM_JOB_GPUS": "0,1",
}
IN_SLURM = "system.slice/slurmstepd.scope/job_7/step_0/user/task_0"


def test_one_reading_knows_the_job_of_a_process_and_of_an_idle_device(node: FakeNode) -> None:
    start = node.process(71, IN_JOB.format(7), VARIABLES)
    node.cgroup(IN_SLURM, 71)
    busy = with_processes(0, process(device(0), 71, start))
    annotated = OneShotLookup(str(node.root), patience_s=60.0).annotate(
        snapshot(busy, view(1), view(2))
    )
    assert [[one.job_id for one in found] for found in owners(annotated)] == [["7"], ["7"], []]
    (one,) = annotated.devices[0].reading.processes or ()
    assert one.job == "7"


@pytest.mark.parametrize("step", ["refresh", "resolve_processes"])
def test_a_source_that_hangs_costs_the_owners_and_not_the_reading(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    released = threading.Event()
    monkeypatch.setattr(Workloads, step, lambda *_: released.wait())
    shot = snapshot(view(0))
    look = OneShotLookup(str(node.root), patience_s=0.01)
    try:
        assert look.annotate(shot) is shot
    finally:
        released.set()


@pytest.mark.parametrize("words", [(), ("--watch", "250ms", "-n", "2")])
def test_the_commands_document_reports_the_job(tmp_path: Path, words: tuple[str, ...]) -> None:
    root = tmp_path / "host"
    node = FakeNode(root)
    FakeTree(root).lay_out("amd/mi300x-x2")
    node.process(71, IN_JOB.format(7), VARIABLES)
    node.cgroup(IN_SLURM, 71)
    run = accelwatch(
        *("--json", "--root", str(root), "--backend", "amd", "--timeout", "30s", *words)
    )
    for line in run.stdout.splitlines():
        found = [one["owners"] for one in json.loads(line)["devices"]]
        assert [(owner["job_id"], owner["user"]) for owner in found[0]] == [("7", "ada")]
    assert run.stdout
