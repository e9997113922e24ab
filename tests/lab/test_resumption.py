"""A scenario is over while the job may still have to begin again: it is waited for."""

import threading
from pathlib import Path

import msgspec

from accelwatch_lab.cluster.scenarios.runner import wait_until_resumed
from accelwatch_lab.cluster.slurm.step_counter import Line, job_folder

FAULT_AT = 10.5


def write_step(folder: Path, time: float, restart: int) -> None:
    """A line of the job's log."""
    own = job_folder(folder, "1")
    own.mkdir(parents=True, exist_ok=True)
    line = Line(time=time, what="step", step=8, restart=restart, pid=1, nodes=("n001",))
    with (own / "steps.jsonl").open("ab") as file:
        file.write(msgspec.json.encode(line) + b"\n")


def test_a_job_that_restarts_later_is_waited_for(tmp_path: Path) -> None:
    write_step(tmp_path, 10.0, 0)
    assert wait_until_resumed(tmp_path, "1", FAULT_AT, 0.0) is None
    later = threading.Timer(0.2, write_step, (tmp_path, 22.0, 1))
    later.start()
    try:
        assert wait_until_resumed(tmp_path, "1", FAULT_AT, 60.0) == 22.0
    finally:
        later.join()


def test_a_job_that_did_its_step_needs_no_time(tmp_path: Path) -> None:
    write_step(tmp_path, 10.0, 0)
    write_step(tmp_path, 22.0, 1)
    assert wait_until_resumed(tmp_path, "1", FAULT_AT, 0.0) == 22.0
