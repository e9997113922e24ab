"""The lab's power switch takes one node at a time, with its jobs."""

from pathlib import Path

from accelwatch_lab.cluster.power import is_off, power_off
from accelwatch_lab.cluster.processes import Processes
from accelwatch_lab.cluster.slurm.controller import NODE

SLEEP = ("sleep", "600")


def test_everything_of_a_node_ends_and_nothing_else(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    for node in ("n1", "n2"):
        processes.start(f"slurmd.{node}", SLEEP, {NODE: node})
        processes.start(f"job.{node}", SLEEP, {"SLURMD_NODENAME": node})
    assert not is_off(tmp_path, "n1")
    power_off(tmp_path, "n1")
    assert is_off(tmp_path, "n1")
    assert not is_off(tmp_path, "n2")
    assert {one.name for one in processes.running()} == {"slurmd.n2", "job.n2"}
    assert processes.stop() == 2
