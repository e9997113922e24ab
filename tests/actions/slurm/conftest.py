"""One real cluster for all tests of the folder: it takes seconds to start."""

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.slurm.action_on_cluster import Hand
from support.slurm.lab_cluster import WorkingSlurm, working_slurm

# Heterogeneous jobs are begun by the backfill scheduler only, which looks every 30 s by default.
QUICK = "batch_sched_delay=1,bf_interval=1"


@pytest.fixture(scope="package")
def cluster() -> Iterator[WorkingSlurm]:
    # A short path: munged's socket lies in it.
    with (
        tempfile.TemporaryDirectory(prefix="slurm") as name,
        working_slurm(Path(name), QUICK) as slurm,
    ):
        yield slurm


@pytest.fixture
def slurm(cluster: WorkingSlurm) -> Iterator[WorkingSlurm]:
    yield cluster
    cluster.clean()


@pytest.fixture
def hand(slurm: WorkingSlurm) -> Iterator[Callable[..., Hand]]:
    made: list[Hand] = []

    def make(**options: Any) -> Hand:
        made.append(Hand(slurm, **options))
        return made[-1]

    yield make
    for one in made:
        asyncio.run(one.action.close())
