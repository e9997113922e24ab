"""The example of a job that fences itself, under a real Slurm."""

import importlib
import time
from pathlib import Path

import pytest

from support.slurm.lab_cluster import WorkingSlurm, until

EXAMPLE = Path(__file__).parents[3] / "examples" / "slurm-checkpoint-lock"


def step(folder: Path, copy: int) -> int:
    found = folder.glob(f"copy-{copy}/step-*")
    return max((int(one.name[5:]) for one in found), default=0)


def test_a_requeued_job_goes_on_and_its_old_copy_writes_nothing(
    slurm: WorkingSlurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    lock = importlib.import_module("checkpoint_lock")
    folder, output = tmp_path / "checkpoints", tmp_path / "output"
    given = f"--export=ALL,PROGRAM={EXAMPLE},CHECKPOINTS={folder}"
    job = slurm.run(
        "sbatch", "--parsable", given, f"--output={output}", str(EXAMPLE / "train.sbatch")
    )
    until(lambda: step(folder, 0) >= 3, "the job trains")
    # On a node that hangs a copy of the job would go on; here the test is that copy.
    old = lock.CheckpointLock(folder, 0)
    slurm.scontrol("requeue", job)
    until(lambda: " JobState=PENDING " in slurm.job(job), "it waits")
    # In the second of the requeue Slurm would revoke its credential.
    started = int(time.time())
    until(lambda: int(time.time()) > started, "another second")
    slurm.scontrol("update", f"jobid={job}", "StartTime=now")
    until(lambda: step(folder, 1) > 3, "it trains again")
    with pytest.raises(lock.TakenOver):
        old.save(10_000, b"")
    saved = max(int(one.name[5:]) for one in folder.glob("closed-0/step-*"))
    assert f"copy 1 begins after step {saved}\n" in output.read_text()
