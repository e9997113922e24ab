"""Jobs that died of a node before they could be moved off it: looked for, and begun again elsewhere."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.intent import JobKey
from accelwatch.action.observed import JobObservation, JobState, Observed
from accelwatch.action.step import RefusalKind
from accelwatch.alerting.rules.document import JobPolicy, Mode, When
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.records import DepartedRecord
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import replay
from accelwatch.remediation.policy.jobs import departures
from accelwatch.remediation.policy.jobs.jobs import jobs_of
from accelwatch.remediation.policy.plan.plan import planned
from accelwatch.remediation.policy.state.case import Policy
from accelwatch.remediation.policy.state.model import RemedyState
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.settings import SpareSettings
from support.remediation.invariants import BrokenError, Watch
from support.remediation.small_fleet import JOB, SETTINGS, Ground, job_policy

NODE, SPARE, NAME = "n03", "n39", "c/17"
MOVES = job_policy(when=When.NOW)
DEAD = JobObservation(
    key=JOB, state=JobState.FINISHED, failed=True, nodes=(NODE, "n04"), text="failed"
)


def ran(ground: Ground, ago: float = 30.0) -> None:
    """A job has left the node so many seconds ago."""
    ground.nodes[NODE].jobs = (JOB,)
    ground.step()
    ground.nodes[NODE].jobs = ()
    ground.wait(ago, every=5)


def taken_out(ground: Ground, policy: Policy = MOVES) -> None:
    """A rule takes the node out."""
    ground.fault(NODE, policy=policy)
    ground.end(NODE)


def looked(
    ground: Ground, seen: JobObservation, refusal: RefusalKind | None = RefusalKind.DIED
) -> None:
    ending = PursuitResult.ACHIEVED if refusal is None else PursuitResult.REFUSED
    ground.end(NODE, ending, refusal, job=seen)


def test_one_that_died_shortly_before_is_restarted_with_a_spare_for_the_node() -> None:
    spares = SpareSettings(nodes=(SPARE,), alike=())
    ground = Ground(settings=msgspec.structs.replace(SETTINGS, spares=spares))
    ran(ground)
    taken_out(ground, policy=job_policy(when=When.NOW, draw_spare=True))
    assert (ground.stage(NODE), ground.kinds(NODE)[-1]) == (Stage.DRAINING, Kind.FOLLOW_JOB)
    assert ground.started[-1].run_s == 0
    looked(ground, DEAD)
    assert ground.kinds(NODE)[-1] is Kind.DRAW_SPARE
    ground.end(NODE)
    move = ground.started[-1]
    assert (move.kind, move.job, move.revive, move.spare) == (Kind.MOVE_JOB, JOB, True, SPARE)
    assert NODE in move.avoided
    runs = msgspec.structs.replace(DEAD, state=JobState.RUNNING, nodes=("n04", SPARE), restarts=1)
    ground.end(NODE, moved_to=runs.nodes, job=runs)
    history = ground.state.retries.jobs[NAME]
    assert [(one.device_fault, one.tried.nodes) for one in history.deaths] == [(True, DEAD.nodes)]
    assert (len(history.resumed), history.run is not None) == (1, True)
    assert ground.kinds(NODE)[-1] is Kind.REBOOT


def test_one_that_died_before_the_hub_was_killed_is_looked_for_by_the_next() -> None:
    ground = Ground()
    ran(ground, 10.0)
    ground.killed()
    ground.step()
    ground.fault(NODE, policy=MOVES)
    ground.wait(150, every=10)
    ground.end(NODE)
    assert (ground.kinds(NODE)[-1], ground.started[-1].job) == (Kind.FOLLOW_JOB, JOB)
    looked(ground, DEAD)
    assert (ground.started[-1].kind, ground.started[-1].revive) == (Kind.MOVE_JOB, True)


def test_killed_at_any_entry_of_the_journal_the_next_one_knows_who_has_died() -> None:
    ground = Ground()
    ran(ground)
    count = len(ground.records)
    taken_out(ground)
    looked(ground, DEAD)
    assert ground.started[-1].revive
    at = next(at for at, one in enumerate(ground.records) if isinstance(one, DepartedRecord))
    assert at < count
    state = RemedyState()
    for number, record in enumerate(ground.records):
        state = replay(state, record)
        remedy = state.remedies.get(NODE)
        lost = () if remedy is None else remedy.jobs.lost
        known = JOB in (*lost, *(one.job for one in state.departed.values()))
        assert known is (number >= at)


def test_who_has_left_is_known_for_two_minutes_and_longer_where_a_remedy_started() -> None:
    ground = Ground()
    for name in (NODE, "n20"):
        ground.nodes[name].jobs = (msgspec.structs.replace(JOB, id=name),)
    ground.step()
    for name in (NODE, "n20"):
        ground.nodes[name].jobs = ()
    ground.step()
    assert len(ground.state.departed) == 2
    ground.fault(NODE, policy=msgspec.structs.replace(MOVES, mode=Mode.OBSERVE))
    ground.wait(150, every=10)
    assert [one.nodes for one in ground.state.departed.values()] == [(NODE,)]
    ground.wait(3600, every=100)
    assert ground.state.departed == {}


def test_a_job_that_leaves_its_nodes_one_after_another_is_one_departure() -> None:
    ground = Ground()
    for name in (NODE, "n04"):
        ground.nodes[name].jobs = (JOB,)
    ground.step()
    for name in (NODE, "n04"):
        ground.nodes[name].jobs = ()
        ground.now += 5
        ground.step()
    (one,) = ground.state.departed.values()
    assert (one.nodes, one.at) == ((NODE, "n04"), ground.now)


def test_of_very_many_the_latest_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(departures, "MOST_DEPARTED", 2)
    ground = Ground()
    jobs = tuple(msgspec.structs.replace(JOB, id=str(at)) for at in range(4))
    ground.nodes[NODE].jobs = jobs
    ground.step()
    for at in range(4):
        ground.nodes[NODE].jobs = jobs[at + 1 :]
        ground.now += 1
        ground.step()
    assert [one.job.id for one in ground.state.departed.values()] == ["2", "3"]


def test_one_that_dies_while_it_is_to_be_moved_is_restarted() -> None:
    ground = Ground()
    ground.nodes[NODE].jobs = (JOB,)
    taken_out(ground)
    assert (ground.kinds(NODE)[-1], ground.started[-1].revive) == (Kind.MOVE_JOB, False)
    ground.nodes[NODE].jobs = ()
    looked(ground, DEAD, RefusalKind.IMPOSSIBLE)
    assert (ground.kinds(NODE)[-1], ground.started[-1].revive) == (Kind.MOVE_JOB, True)
    assert len(ground.state.retries.jobs[NAME].resumed) == 1
    assert not [one for one in ground.notes if one.loudness is Loudness.ALERT]


def test_one_that_was_cancelled_while_it_was_to_be_moved_is_let_be() -> None:
    ground = Ground()
    ground.nodes[NODE].jobs = (JOB,)
    taken_out(ground)
    ground.nodes[NODE].jobs = ()
    ended = msgspec.structs.replace(DEAD, failed=False)
    looked(ground, ended, RefusalKind.IMPOSSIBLE)
    assert not any(one.revive for one in ground.started)


def test_one_that_ended_as_it_should_is_let_be_and_the_node_is_mended() -> None:
    ground = Ground()
    ran(ground)
    taken_out(ground)
    looked(ground, msgspec.structs.replace(DEAD, failed=False), None)
    assert ground.kinds(NODE) == [Kind.QUARANTINE, Kind.FOLLOW_JOB, Kind.REBOOT]
    assert ground.state.retries.jobs == {}


def test_one_of_which_nobody_knows_how_it_ended_is_let_be_and_reported() -> None:
    ground = Ground()
    ran(ground)
    taken_out(ground)
    looked(ground, DEAD, RefusalKind.IMPOSSIBLE)
    assert ground.kinds(NODE)[-1] is Kind.REBOOT
    assert any("how job 17 has ended is not known" in one.text for one in ground.notes)


@pytest.mark.parametrize(
    ("ago", "policy"),
    [
        (150.0, MOVES),
        (30.0, job_policy(when=When.AFTER_JOB)),
        (30.0, msgspec.structs.replace(MOVES, job=JobPolicy.NOTHING)),
        (30.0, msgspec.structs.replace(MOVES, job=JobPolicy.CANCEL)),
    ],
)
def test_who_left_long_before_or_is_not_to_be_moved_is_not_looked_for(
    ago: float, policy: Policy
) -> None:
    ground = Ground()
    ran(ground, ago)
    taken_out(ground, policy=policy)
    assert ground.kinds(NODE) == [Kind.QUARANTINE, Kind.REBOOT]


def test_below_the_ceiling_of_resumes_nobody_is_looked_for() -> None:
    ground = Ground(settings=msgspec.structs.replace(SETTINGS, ceiling="remedy"))
    ran(ground)
    assert ground.state.departed == {}
    taken_out(ground)
    assert ground.kinds(NODE) == [Kind.QUARANTINE, Kind.REBOOT]


def test_one_that_came_back_to_the_node_is_moved_as_it_runs() -> None:
    ground = Ground()
    ran(ground)
    again = JobKey(JOB.cluster, JOB.id, ground.now)
    ground.nodes[NODE].jobs = (again,)
    taken_out(ground)
    assert (ground.started[-1].kind, ground.started[-1].job) == (Kind.MOVE_JOB, again)
    assert not ground.started[-1].revive


def test_one_that_may_not_be_restarted_keeps_the_node_for_an_hour_at_most() -> None:
    resume = msgspec.structs.replace(SETTINGS.resume, most=0)
    ground = Ground(settings=msgspec.structs.replace(SETTINGS, resume=resume))
    ran(ground)
    taken_out(ground)
    looked(ground, DEAD)
    assert [one.text for one in ground.notes if one.loudness is Loudness.ALERT] != []
    ground.wait(3500, every=100)
    assert ground.stage(NODE) is Stage.DRAINING
    ground.wait(200, every=50)
    assert ground.kinds(NODE)[-1] is Kind.REBOOT


def test_a_node_that_does_not_answer_is_fenced_before_its_dead_job_is_restarted() -> None:
    ground = Ground()
    ran(ground)
    taken_out(ground)
    ground.nodes[NODE].answering = ground.nodes[NODE].agent = False
    looked(ground, DEAD)
    ground.wait(120, every=10)
    assert ground.kinds(NODE)[-1] is Kind.FENCE
    ground.end(NODE)
    assert (ground.started[-1].kind, ground.started[-1].revive) == (Kind.MOVE_JOB, True)


@pytest.mark.parametrize("policy", [MOVES, job_policy(when=When.AFTER_JOB)])
def test_a_plan_names_the_jobs_that_have_left(policy: Policy) -> None:
    ground = Ground()
    ran(ground)
    ground.unavailable = "no answer in 10 s"
    ground.fault(NODE, policy=policy)
    ground.unavailable = ""
    plan = planned(ground.state, NODE, ground.now, ground.settings)
    texts = [step.text for step in plan.steps if step.kind is Kind.MOVE_JOB]
    expected = "restart job 17, which has left n03, if it has died"
    assert texts == ([expected] if policy is MOVES else [])


def test_nobody_is_called_for_a_pause_before_a_retry() -> None:
    ground = Ground()
    ran(ground)
    taken_out(ground)
    looked(ground, DEAD)
    runs = msgspec.structs.replace(DEAD, state=JobState.RUNNING, nodes=("n10", "n04"), restarts=1)
    ground.end(NODE, moved_to=runs.nodes, job=runs)
    ground.nodes["n10"].jobs = (JOB,)
    ground.step()
    ground.nodes["n10"].jobs = ()
    ground.fault("n10", policy=MOVES)
    ground.wait(150, every=10)
    ground.end("n10")
    dead = msgspec.structs.replace(DEAD, nodes=("n10", "n04"), restarts=1)
    ground.end_chore(Kind.FOLLOW_JOB, PursuitResult.REFUSED, RefusalKind.DIED, dead)
    ground.end("n10", PursuitResult.REFUSED, RefusalKind.DIED, job=dead)
    held = [one for one in ground.notes if "the last end was just now" in one.text]
    assert {one.loudness for one in held} == {Loudness.NOTIFY}
    ground.wait(200, every=10)
    assert ground.started[-1].node == "n10"
    assert (ground.started[-1].kind, ground.started[-1].revive) == (Kind.MOVE_JOB, True)


@pytest.mark.parametrize(("later_s", "known"), [(0.0, (JOB,)), (60.0, (JOB,)), (61.0, None)])
def test_which_jobs_a_node_has_is_not_known_from_an_old_look(
    later_s: float, known: tuple[JobKey, ...] | None
) -> None:
    ground = Ground()
    ground.nodes[NODE].jobs = (JOB,)
    ground.step()
    ctx = StepContext(ground.state, ground.settings, ground.now + later_s)
    assert jobs_of(ctx, ctx.remedy(NODE)) == known


def test_one_found_dead_needs_no_reading_though_the_last_poll_shows_it_there() -> None:
    ground = Ground()
    ground.nodes[NODE].jobs = (JOB,)
    ground.step()
    taken_out(ground)
    status = ground.state.world.node_statuses[NODE]
    move = ground.flying.pop(NODE)
    assert move.kind is Kind.MOVE_JOB
    ground.now += 5
    late = msgspec.structs.replace(status, late=True)
    died = Pursued(
        intent=move,
        result=PursuitResult.REFUSED,
        time=ground.now,
        text="it has ended",
        refusal=RefusalKind.DIED,
        observed=Observed(time=ground.now, node=ground.nodes[NODE].seen(), job=DEAD),
    )
    ground.step(seen=(late, died), look=False)
    assert JOB in ground.state.world.scheduler_nodes[NODE].jobs
    again = ground.flying[NODE]
    assert (again.kind, again.job, again.revive) == (Kind.MOVE_JOB, JOB, True)
    watch = Watch(ground.settings)
    remedy = ground.remedy(NODE)
    assert remedy is not None
    watch._allowed(ground.state, remedy, again, ground.now)
    alive = msgspec.structs.replace(again, revive=False)
    with pytest.raises(BrokenError, match="on an old reading"):
        watch._allowed(ground.state, remedy, alive, ground.now)


def test_one_whose_launcher_asks_for_no_restart_is_not_moved_and_its_node_goes_on() -> None:
    ground = Ground()
    ran(ground)
    taken_out(ground)
    looked(ground, msgspec.structs.replace(DEAD, declined="its own launcher asks for no restart"))
    ground.wait(120)
    assert Kind.MOVE_JOB not in ground.kinds(NODE)
    plan = planned(ground.state, NODE, ground.now, ground.settings)
    texts = [answer.text for step in plan.steps for answer in step.in_the_way]
    assert any("its own launcher asks for no restart" in text for text in texts), texts
    ground.wait(3700, every=60)
    assert Kind.MOVE_JOB not in [one.kind for one in ground.started]
    assert ground.stage(NODE) is not Stage.DRAINING
