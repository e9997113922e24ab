"""Jobs that die of themselves: begun again where their users said so, and no others."""

import msgspec
import pytest

from accelwatch.action.intent import Intent
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import JobObservation, JobState
from accelwatch.action.step import RefusalKind
from accelwatch.alerting.rules.document import When
from accelwatch.remediation.policy.context.cases import bad_nodes
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.state.changes import Verb
from accelwatch.remediation.policy.state.model import Approval, Clocks, Remedy, RemedyState
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.policy.step import job_deaths
from support.remediation.invariants import Watch
from support.remediation.small_fleet import JOB, SETTINGS, START, Ground, job_policy

NODES, NAME = ("n03", "n04"), "c/17"
DEAD = JobObservation(
    key=JOB, state=JobState.FINISHED, failed=True, nodes=NODES, text="failed, exit code 1:0"
)
AGAIN = msgspec.structs.replace(DEAD, state=JobState.RUNNING, failed=False, restarts=1)


def left(ground: Ground, *, wants: bool = True) -> None:
    """A job has run on two nodes that are well, and is gone."""
    for name in NODES:
        ground.nodes[name].jobs = (JOB,)
        ground.nodes[name].restartable = frozenset({JOB}) if wants else frozenset()
    ground.step()
    for name in NODES:
        ground.nodes[name].jobs = ()
        ground.step()


def looks(ground: Ground) -> list[Intent]:
    return [one for one in ground.started if one.kind is Kind.FOLLOW_JOB and not one.run_s]


def revivals(ground: Ground) -> list[Intent]:
    return [one for one in ground.started if one.kind is Kind.MOVE_JOB]


def died(ground: Ground, seen: JobObservation = DEAD) -> None:
    ground.end_chore(Kind.FOLLOW_JOB, PursuitResult.REFUSED, RefusalKind.DIED, seen)


def alerts(ground: Ground) -> list[str]:
    return [one.text for one in ground.notes if one.loudness is Loudness.ALERT]


def test_its_first_death_is_tried_again_at_once_on_the_same_nodes() -> None:
    ground = Ground()
    left(ground)
    (look,) = looks(ground)
    assert (look.job, revivals(ground)) == (JOB, [])
    died(ground)
    (move,) = revivals(ground)
    assert (move.job, move.revive, move.avoided, move.checkpoint) == (JOB, True, (), "")
    assert ground.state.remedies == {}
    (death,) = ground.state.retries.jobs[NAME].deaths
    assert (death.device_fault, death.tried.nodes) == (False, NODES)


def test_after_its_first_death_it_starts_from_its_newest_checkpoint_however_late() -> None:
    ground = Ground()
    left(ground)
    ground.send_command(Verb.STOP)
    died(ground, msgspec.structs.replace(DEAD, checkpoint="step-900", earlier="step-800"))
    ground.wait(130, every=10)
    assert revivals(ground) == []
    ground.send_command(Verb.START)
    assert [one.checkpoint for one in revivals(ground)] == [""]


def test_a_job_whose_user_opted_into_nothing_is_never_even_polled() -> None:
    ground = Ground()
    left(ground, wants=False)
    ground.wait(300)
    assert (ground.started, ground.state.retries.jobs) == ([], {})


@pytest.mark.parametrize(
    "seen",
    [
        msgspec.structs.replace(DEAD, failed=False),
        msgspec.structs.replace(DEAD, state=JobState.WAITING, failed=False),
        msgspec.structs.replace(DEAD, state=JobState.WAITING),
        AGAIN,
    ],
)
def test_one_that_has_not_failed_or_is_restarted_by_others_is_let_be(
    seen: JobObservation,
) -> None:
    ground = Ground()
    left(ground)
    died(ground, seen)
    ground.wait(300)
    assert (revivals(ground), len(looks(ground))) == ([], 1)


def test_one_that_a_node_which_it_has_left_restarts_is_not_started_beside_that() -> None:
    ground = Ground()
    left(ground)
    (look,) = looks(ground)
    ground.fault(NODES[0], policy=job_policy(when=When.NOW))
    ground.end(NODES[0])
    ground.end(NODES[0], PursuitResult.REFUSED, RefusalKind.DIED, job=DEAD)
    (move,) = revivals(ground)
    assert look in ground.state.chores.values()
    died(ground)
    assert ground.state.retries.jobs[NAME].run is None
    waits = msgspec.structs.replace(DEAD, state=JobState.WAITING, failed=False)
    ground.end(NODES[0], PursuitResult.FAILED, job=waits)
    ground.wait(300)
    moves = [one for one in ground.state.chores.values() if one.kind is Kind.MOVE_JOB]
    assert [one.mark for one in moves] == [move.mark]
    assert {one.mark for one in revivals(ground)} == {move.mark}


def test_that_a_move_was_tried_before_its_first_death_makes_that_no_retry() -> None:
    ground = Ground()
    for name in NODES:
        ground.nodes[name].jobs = (JOB,)
        ground.nodes[name].restartable = frozenset({JOB})
    ground.step()
    case = ground.fault(NODES[0], policy=job_policy())
    ground.end(NODES[0])
    ground.end(NODES[0], PursuitResult.FAILED, job=AGAIN)
    ground.clear(NODES[0], case)
    for name in NODES:
        ground.nodes[name].jobs = ()
    ground.wait(10, every=5)
    died(ground, msgspec.structs.replace(DEAD, nodes=("n20",)))
    ground.wait(600)
    (move,) = [one for one in revivals(ground) if one.revive]
    assert (move.node, "n20" in move.avoided, move.checkpoint) == ("n20", False, "")
    watch = Watch(ground.settings)
    watch._revival(ground.state, move, ground.now)


def test_below_the_ceiling_of_resumes_nothing_is_looked_at() -> None:
    ground = Ground(settings=msgspec.structs.replace(SETTINGS, ceiling="remedy"))
    left(ground)
    assert ground.started == []


@pytest.mark.parametrize("ceiling", ["remedy", "resume"])
def test_it_is_restarted_only_where_the_profile_of_each_node_lets_jobs_be(ceiling: str) -> None:
    ground = Ground()
    ground.nodes[NODES[1]].ceiling = ceiling
    left(ground)
    died(ground)
    assert len(revivals(ground)) == (ceiling == "resume")


def test_on_a_node_that_is_not_known_here_it_is_left_to_people() -> None:
    ground = Ground()
    left(ground)
    died(ground, msgspec.structs.replace(DEAD, nodes=("n03", "x99")))
    assert (revivals(ground), len(alerts(ground))) == ([], 1)


def test_after_stop_it_waits() -> None:
    ground = Ground()
    left(ground)
    ground.send_command(Verb.STOP)
    died(ground)
    assert revivals(ground) == []
    ground.send_command(Verb.START)
    assert len(revivals(ground)) == 1


def test_a_second_death_at_the_same_step_is_the_end_of_it() -> None:
    ground = Ground()
    left(ground)
    died(ground, msgspec.structs.replace(DEAD, step=900, checkpoint="step-900"))
    runs = msgspec.structs.replace(AGAIN, step=900, checkpoint="step-900")
    ground.end_chore(Kind.MOVE_JOB, job=runs)
    again = msgspec.structs.replace(DEAD, step=900, checkpoint="step-900", restarts=1)
    died(ground, again)
    ground.wait(400, every=20)
    assert len(revivals(ground)) == 1
    assert any("ended 2 times at step 900 without a fault" in text for text in alerts(ground))


def test_one_that_comes_further_is_tried_again_after_a_minute_and_two() -> None:
    ground = Ground()
    left(ground)
    died(ground, msgspec.structs.replace(DEAD, step=900, checkpoint="step-900"))
    waits = []
    for step in (1000, 1100):
        now = {"step": step, "checkpoint": f"step-{step}"}
        restarted = msgspec.structs.replace(AGAIN, checkpoint=f"step-{step - 100}")
        ground.end_chore(Kind.MOVE_JOB, job=restarted)
        died(ground, msgspec.structs.replace(DEAD, restarts=1, **now))
        started_at, count = ground.now, len(revivals(ground))
        while len(revivals(ground)) == count:
            ground.now += 5
            ground.step()
            assert ground.now - started_at < 300
        waits.append(ground.now - started_at)
    assert 45 <= waits[0] <= 75
    assert 90 <= waits[1] <= 150


def test_with_nothing_else_to_try_a_second_time_a_person_is_notified() -> None:
    ground = Ground()
    left(ground)
    died(ground)
    ground.end_chore(Kind.MOVE_JOB, job=AGAIN)
    died(ground, msgspec.structs.replace(DEAD, restarts=1))
    ground.wait(300, every=20)
    assert len(revivals(ground)) == 1
    assert any("the same nodes and the same checkpoint" in text for text in alerts(ground))


def test_a_node_that_goes_bad_meanwhile_is_avoided() -> None:
    ground = Ground()
    left(ground)
    ground.fault(NODES[0], policy=job_policy(when=When.NOW))
    died(ground)
    (move,) = revivals(ground)
    assert (move.node, move.avoided) == (NODES[0], (NODES[0],))
    assert ground.state.retries.jobs[NAME].deaths[-1].device_fault


def test_a_node_that_is_out_for_it_has_the_job_in_hand() -> None:
    ground = Ground()
    left(ground)
    ground.fault(NODES[0], policy=job_policy(when=When.NOW))
    ground.end(NODES[0])
    assert ground.kinds(NODES[0])[-1] is Kind.FOLLOW_JOB
    died(ground)
    assert revivals(ground) == []
    ground.end(NODES[0], PursuitResult.REFUSED, RefusalKind.DIED, job=DEAD)
    (move,) = revivals(ground)
    assert (move.revive, NODES[0] in move.avoided) == (True, True)
    assert move.mark.incident == f"i-{NODES[0]}"


def test_killed_in_between_the_next_engine_polls_and_restarts_it() -> None:
    ground = Ground()
    left(ground)
    ground.killed()
    ground.wait(200, every=20)
    died(ground)
    assert len(revivals(ground)) == 1


def test_of_very_many_a_few_are_looked_at_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_deaths, "MOST_CHECKS", 2)
    ground = Ground()
    jobs = tuple(msgspec.structs.replace(JOB, id=str(at)) for at in range(5))
    ground.nodes["n03"].jobs, ground.nodes["n03"].restartable = jobs, frozenset(jobs)
    ground.step()
    ground.nodes["n03"].jobs = ()
    ground.step()
    assert len(looks(ground)) == 2
    ground.wait(30)
    assert len(looks(ground)) == 2


def test_one_that_nobody_could_look_at_in_time_is_let_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ground = Ground()
    with monkeypatch.context() as patch:
        patch.setattr(job_deaths, "MOST_CHECKS", 0)
        left(ground)
        ground.wait(150)
    ground.wait(150)
    assert (looks(ground), ground.state.departed) == ([], {})


def test_one_that_gives_a_node_back_runs_on_and_is_looked_at_when_it_has_left_the_last() -> None:
    ground = Ground()
    for name in NODES:
        ground.nodes[name].jobs, ground.nodes[name].restartable = (JOB,), frozenset({JOB})
    ground.step()
    ground.nodes[NODES[0]].jobs = ()
    ground.wait(150)
    assert looks(ground) == []
    ground.nodes[NODES[1]].jobs = ()
    ground.step()
    assert len(looks(ground)) == 1


@pytest.mark.parametrize("manual", [True, False])
def test_no_job_starts_where_a_person_has_just_requested_a_quarantine(*, manual: bool) -> None:
    remedy = Remedy(
        node="n05",
        stage=Stage.SUSPECT,
        clocks=Clocks(since=START, begun=START),
        approval=Approval(manual=manual),
    )
    ctx = StepContext(RemedyState(remedies={"n05": remedy}), SETTINGS, START)
    assert bad_nodes(ctx) == ({"n05"} if manual else set())
