"""A node that is well does not wait for a job that has left it and waits for nodes elsewhere."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import JobObservation, JobState, Observed
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.jobs.avoiding import as_of_now
from accelwatch.remediation.policy.state.case import Case
from accelwatch.remediation.policy.state.changes import CaseChanged, Verb
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult
from accelwatch.remediation.policy.state.stage import Stage
from support.remediation.small_fleet import JOB, Ground, job_policy

NODE, OTHER = "n03", "n04"
MOVES = msgspec.structs.replace(job_policy(), ladder=(), tests=("quick",))
STEERED = {"exclude": "n09"}


def waiting() -> tuple[Ground, Case]:
    """A job that ran on two nodes was requeued off the first, and waits in the queue."""
    ground = Ground()
    for name in (NODE, OTHER):
        ground.nodes[name].jobs = (JOB,)
    ground.step()
    case = ground.fault(NODE, policy=MOVES)
    ground.end(NODE)
    assert ground.flying[NODE].kind is Kind.MOVE_JOB
    for name in (NODE, OTHER):
        ground.nodes[name].jobs = ()
    ground.step()
    return ground, case


def handed_on() -> Ground:
    ground, case = waiting()
    ground.clear(NODE, case)
    del ground.flying[NODE]
    ground.wait(2, every=1)
    assert ground.stage(NODE) is Stage.VERIFYING
    return ground


def end_move(ground: Ground, ending: PursuitResult, moved_to: tuple[str, ...] = ()) -> None:
    (move,) = [one for one in ground.state.chores.values() if one.kind is Kind.MOVE_JOB]
    job = JobObservation(key=JOB, state=JobState.RUNNING, nodes=moved_to, restarts=1)
    ground.now += 1
    end = Pursued(
        intent=move,
        result=ending,
        time=ground.now,
        text="as the test says",
        observed=Observed(time=ground.now, job=job),
        moved_to=moved_to,
        original=STEERED,
    )
    ground.step(seen=(end,))


def texts(ground: Ground, loudness: Loudness) -> list[str]:
    return [note.text for note in ground.notes if note.loudness is loudness]


def test_a_node_that_is_well_is_verified_and_given_back_while_its_job_waits() -> None:
    ground = handed_on()
    assert ground.cancelled == []
    ground.wait(80, every=10)
    assert ground.flying[NODE].kind is Kind.TEST
    ground.end(NODE)
    assert ground.flying[NODE].kind is Kind.RELEASE
    ground.end(NODE)
    assert ground.stage(NODE) is Stage.HEALTHY
    assert not [one for one in ground.started if one.kind is Kind.RESTORE_JOB]
    end_move(ground, PursuitResult.ACHIEVED, ("n20", "n21"))
    (restore,) = [one for one in ground.started if one.kind is Kind.RESTORE_JOB]
    assert (restore.job, dict(restore.original)) == (JOB, STEERED)
    assert "job 17 runs on n20,n21" in texts(ground, Loudness.NOTIFY)
    assert ground.state.retries.jobs["c/17"].run is not None


def test_the_move_of_a_node_that_is_still_bad_is_waited_for() -> None:
    ground, _ = waiting()
    ground.wait(120, every=10)
    assert ground.stage(NODE) is Stage.DRAINING


def test_a_job_that_is_still_on_the_node_is_waited_for() -> None:
    ground, case = waiting()
    ground.nodes[NODE].jobs = (JOB,)
    ground.clear(NODE, case)
    ground.wait(30, every=10)
    assert ground.stage(NODE) is Stage.DRAINING


def test_a_move_that_is_given_up_leaves_the_job_to_its_scheduler() -> None:
    ground = handed_on()
    end_move(ground, PursuitResult.FAILED)
    (restore,) = [one for one in ground.started if one.kind is Kind.RESTORE_JOB]
    assert dict(restore.original) == STEERED
    assert ["job 17 does not run elsewhere" in one for one in texts(ground, Loudness.ALERT)] == [
        True
    ]


def test_one_whose_end_is_not_known_is_looked_after_until_it_is() -> None:
    ground = handed_on()
    end_move(ground, PursuitResult.UNKNOWN)
    assert len(texts(ground, Loudness.ALERT)) == 1
    end_move(ground, PursuitResult.ACHIEVED, ("n20",))
    assert ground.state.chores.keys() == {"follow c/17", "n03 17"}


def test_a_hub_that_starts_anew_goes_on_with_it() -> None:
    ground = handed_on()
    ground.killed()
    assert [one.kind for one in ground.state.chores.values()] == [Kind.MOVE_JOB]
    end_move(ground, PursuitResult.ACHIEVED, ("n20",))
    assert [one.kind for one in ground.started if one.kind is Kind.RESTORE_JOB] == [
        Kind.RESTORE_JOB
    ]


@pytest.mark.parametrize("handed", [True, False])
def test_a_second_bad_node_does_not_move_it_beside(handed: bool) -> None:
    ground = handed_on() if handed else waiting()[0]
    ground.now += 200
    case = Case(incident="i2", policy=MOVES, since=ground.now, evidence_at=ground.now)
    ground.nodes[OTHER].jobs = (JOB,)
    ground.nodes[OTHER].healthy = False
    ground.step(CaseChanged(node=OTHER, case=case))
    ground.end(OTHER)
    moves = [one for one in ground.started if one.kind is Kind.MOVE_JOB]
    assert (len(moves) == 1) is handed


def given_up(state: JobState) -> Ground:
    """The time of the move is over, and the job is seen so."""
    ground, _ = waiting()
    ground.end(
        NODE, PursuitResult.FAILED, job=JobObservation(key=JOB, state=state), original=STEERED
    )
    return ground


@pytest.mark.parametrize("state", [JobState.WAITING, JobState.HELD])
def test_a_job_that_waits_on_is_no_failure_and_its_node_is_looked_after(state: JobState) -> None:
    ground = given_up(state)
    assert ground.stage(NODE) is Stage.QUARANTINED
    (move,) = [one for one in ground.state.chores.values() if one.kind is Kind.MOVE_JOB]
    assert move in ground.started
    assert (move.job, move.fenced_by_job, dict(move.original)) == (JOB, True, STEERED)
    assert texts(ground, Loudness.ALERT) == []
    end_move(ground, PursuitResult.ACHIEVED, ("n20",))
    (restore,) = [one for one in ground.started if one.kind is Kind.RESTORE_JOB]
    assert dict(restore.original) == STEERED


@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.COMPLETING])
def test_a_job_that_has_not_left_its_node_in_time_is_a_failure(state: JobState) -> None:
    ground = given_up(state)
    assert ground.stage(NODE) is Stage.FAILED
    assert len(texts(ground, Loudness.ALERT)) == 1


def test_a_job_that_waits_on_may_start_on_its_node_again_when_that_is_well() -> None:
    ground = handed_on()
    (move,) = [one for one in ground.state.chores.values() if one.kind is Kind.MOVE_JOB]
    assert as_of_now(ground.state, move, ground.now).avoided == (NODE,)
    ground.send_command(Verb.FORGET, NODE)
    assert as_of_now(ground.state, move, ground.now).avoided == ()
