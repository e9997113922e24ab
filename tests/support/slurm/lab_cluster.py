"""The lab's Slurm with five nodes, for tests; they are skipped where it is not installed."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from accelwatch_lab.cluster.slurm.controller import Slurm as WorkingSlurm
from accelwatch_lab.cluster.slurm.installed import missing
from accelwatch_lab.cluster.waiting import until as seen_within

NODES = ("n1", "n2", "n3", "n4", "n5")

__all__ = ["NODES", "WorkingSlurm", "until", "working_slurm"]


# A controller that has hung before, beside other tests, takes its time; the limit is only a guard.
PATIENT_S = 120.0


def until(true: Callable[[], object], what: str, seconds: float = PATIENT_S) -> None:
    """Wait for what is to come true. Raises NotSeenError."""
    seen_within(true, what, seconds)


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
        slurm.start(scheduler, **timeouts)
        yield slurm
    finally:
        slurm.stop()
