"""How often a job's counting has started, where the scheduler does not number the starts of a job."""

import os
from pathlib import Path

from accelwatch_lab.cluster.slurm.step_counter import job_folder


def starts_of(folder: Path, job: str) -> int:
    """How often it has."""
    try:
        return int(_file(folder, job).read_text())
    except (OSError, ValueError):
        return 0


def count_start(folder: Path, job: str) -> int:
    """Count one more; how many there were before: 0 for the first. Raises OSError."""
    file = _file(folder, job)
    starts = starts_of(folder, job)
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(f".{os.getpid()}")
    new.write_text(str(starts + 1))
    new.replace(file)
    return starts


def _file(folder: Path, job: str) -> Path:
    return job_folder(folder, job) / "starts"
