"""The lab's Slurm with five nodes, for tests; they are skipped where it is not installed."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from accelwatch.lab.installed import missing
from accelwatch.lab.slurm import Slurm as WorkingSlurm
from accelwatch.lab.waiting import until

NODES = ("n1", "n2", "n3", "n4", "n5")

__all__ = ["NODES", "WorkingSlurm", "until", "working_slurm"]


@contextlib.contextmanager
def working_slurm(
    folder: Path,
    scheduler: str = "batch_sched_delay=1",
    names: Sequence[str] = NODES,
    **timeouts: Any,
) -> Iterator[WorkingSlurm]:
    """A cluster of idle nodes."""
    if absent := missing():
        pytest.skip(f"{', '.join(absent)} not installed")
    slurm = WorkingSlurm(folder, names)
    try:
        slurm.begin(scheduler, **timeouts)
        yield slurm
    finally:
        slurm.end()
