"""A job submitted with `--requeue=expedite` (Slurm 25.11): Slurm begins it at once itself."""

import tempfile
from pathlib import Path

import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.action.step import Achieved
from accelwatch_lab.cluster.slurm.installed import missing, slurm_version
from support.slurm.action_on_cluster import Hand
from support.slurm.lab_cluster import until, working_slurm

SINCE = (25, 11)
ENABLED = "batch_sched_delay=1\nSlurmctldParameters=enable_expedited_requeue"


def test_it_is_moved_before_its_rivals_without_a_command_to_start() -> None:
    if missing() or slurm_version() < SINCE:
        pytest.skip("needs Slurm 25.11: make slurm")
    with (
        tempfile.TemporaryDirectory(prefix="slurm") as name,
        working_slurm(Path(name), ENABLED, names=("n1", "n2", "n3")) as slurm,
    ):
        one = Hand(slurm)
        number = slurm.submit("-N2", "--nodelist=n1,n2", "--requeue=expedite")
        until(lambda: "JobState=RUNNING" in slurm.job(number), "the job runs")
        rival = slurm.submit("-N1", "--exclude=n3")
        key = one.key(number)
        one.pursue(IntentKind.QUARANTINE, "n1")
        moved = one.pursue(IntentKind.MOVE_JOB, "n1", job=key, spare="n3")
        assert moved.kinds == ["reserve", "requeue", "steer"]
        assert isinstance(moved.ending, Achieved)
        assert moved.ending.moved_to == ("n2", "n3")
        assert "JobState=PENDING" in slurm.job(rival)
