"""What has Slurm find out that a slurmd is silent, on a controller that never asks of itself."""

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.action.step import Achieved, Refusal, RefusalKind, ReportStatus, Step, Wait
from support.actions.pursuits import committed
from support.slurm.action_on_cluster import Hand
from support.slurm.lab_cluster import WorkingSlurm, until, working_slurm

# A step on one of the job's two nodes.
STEP = "srun -N1 -w n1 sh -c 'while :; do date >> {file}; sleep 0.1; done'"


@pytest.fixture(scope="module")
def deaf() -> Iterator[WorkingSlurm]:
    """A controller that marks a slurmd as silent only when a message to it has timed out."""
    with (
        tempfile.TemporaryDirectory(prefix="slurm") as name,
        working_slurm(
            Path(name), names=("n1", "n2", "n3"), slurmd_timeout_s=0, message_timeout_s=2
        ) as slurm,
    ):
        yield slurm


@pytest.fixture
def one(deaf: WorkingSlurm) -> Iterator[Hand]:
    hand = Hand(deaf, probe_silent=True)
    yield hand
    asyncio.run(hand.action.close())


def test_a_probe_shows_that_a_slurmd_is_silent_and_leaves_the_job_alone(
    deaf: WorkingSlurm, one: Hand, tmp_path: Path
) -> None:
    file = tmp_path / "lives"
    number = deaf.submit("-N2", "-w", "n1,n2", script=STEP.format(file=file))
    until(file.exists, "the step runs")
    alive = one.intent(IntentKind.PROBE, "n1")
    step = one.action.propose(alive, asyncio.run(one.action.observe(alive)))
    assert isinstance(step, Step)
    assert (step.kind, step.arguments["job"]) == ("probe", number)
    report = asyncio.run(one.action.perform(step, committed(alive)))
    assert report.status is ReportStatus.DONE
    waits = one.action.propose(alive, asyncio.run(one.action.observe(alive)))
    assert isinstance(waits, Wait)
    answered = time.time()
    with deaf.stopped("slurmd.n2"):
        # Slurm believes one that has answered in the same second, whatever times out after that.
        until(lambda: time.time() > answered + 1.5, "its answer to the first probe is old")
        probed = one.pursue(IntentKind.PROBE, "n2", asked=2.0)
        assert (probed.kinds, isinstance(probed.ending, Achieved)) == (["probe"], True)
        assert "NOT_RESPONDING" in deaf.node("n2")
    assert "NOT_RESPONDING" not in deaf.node("n1")
    assert "JobState=RUNNING" in deaf.job(number)
    written = file.read_text()
    until(lambda: file.read_text() != written, "the step goes on")
    left = Step(
        kind="probe",
        arguments={"node": "n3", "job": number, "asked": "3.0"},
        precondition={"restarts": "0"},
    )
    assert asyncio.run(one.action.perform(left, committed(alive))).status is ReportStatus.RETRY


def test_nothing_is_sent_where_no_job_runs_or_the_options_do_not_say_so(
    deaf: WorkingSlurm, one: Hand
) -> None:
    idle = one.pursue(IntentKind.PROBE, "n3")
    assert isinstance(idle.ending, Refusal)
    assert (idle.kinds, idle.ending.text) == ([], "no job runs on n3")
    other = Hand(deaf)
    assert IntentKind.PROBE not in other.action.intents
    refused = other.pursue(IntentKind.PROBE, "n1").ending
    asyncio.run(other.action.close())
    assert isinstance(refused, Refusal)
    assert refused.kind is RefusalKind.IMPOSSIBLE
