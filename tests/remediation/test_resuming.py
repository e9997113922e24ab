"""Jobs that were begun again and die again: watched, begun with something else, or left to people."""

import msgspec
import pytest

from accelwatch.action.intent import Intent
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import JobObservation, JobState
from accelwatch.action.step import RefusalKind
from accelwatch.alerting.rules.document import When
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.guards.retry.job_history import JobHistory, Try
from accelwatch.remediation.policy.jobs.another_try import another
from accelwatch.remediation.policy.state.case import Case, Policy
from accelwatch.remediation.policy.state.changes import CaseChanged, Verb
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.state.score import WEIGHTS, Failing, score
from support.remediation.small_fleet import JOB, SETTINGS, Ground, job_policy

NODE, OTHER, SPARE = "n03", "n10", "n20"
NAME = "c/17"
SEEN = JobObservation(
    key=JOB,
    state=JobState.RUNNING,
    nodes=(OTHER, SPARE),
    restarts=1,
    checkpoint="step-900",
    step=900,
)
MOVES = job_policy(when=When.NOW, ladder=())


def moved(ground: Ground) -> Case:
    """A job was moved off a bad node, and runs on two others."""
    ground.nodes[NODE].jobs = (JOB,)
    case = ground.fault(NODE, policy=MOVES)
    ground.end(NODE)
    assert ground.kinds(NODE)[-1] is Kind.MOVE_JOB
    ground.end(NODE, moved_to=SEEN.nodes, job=SEEN)
    return case


def died(ground: Ground, **fields: object) -> None:
    """The job that is watched has failed."""
    dead: dict[str, object] = {
        "state": JobState.FINISHED,
        "failed": True,
        "text": "failed",
        **fields,
    }
    seen = msgspec.structs.replace(SEEN, **dead)
    ground.end_chore(Kind.FOLLOW_JOB, PursuitResult.REFUSED, RefusalKind.DIED, seen)


def revivals(ground: Ground) -> list[Intent]:
    return [one for one in ground.started if one.revive and one.kind is Kind.MOVE_JOB]


def history(ground: Ground) -> JobHistory:
    return ground.state.retries.jobs[NAME]


def texts(ground: Ground, loudness: Loudness) -> list[str]:
    return [one.text for one in ground.notes if "job 17" in one.text and one.loudness is loudness]


def test_a_job_that_was_moved_is_watched_until_it_has_run_for_a_while() -> None:
    ground = Ground()
    moved(ground)
    (watching,) = [one for one in ground.started if one.kind is Kind.FOLLOW_JOB]
    assert (watching.job, watching.restarts, watching.run_s) == (JOB, 1, 1800.0)
    assert history(ground).in_a_row == 1
    ground.end_chore(Kind.FOLLOW_JOB, job=SEEN)
    assert (history(ground).in_a_row, history(ground).run) == (0, None)
    ground.wait(600)
    assert revivals(ground) == []


def test_one_that_dies_of_a_node_is_restarted_without_it_after_a_minute() -> None:
    ground = Ground()
    moved(ground)
    ground.fault(OTHER, policy=MOVES)
    died(ground)
    ground.wait(50, every=10)
    assert revivals(ground) == []
    ground.wait(20, every=10)
    (again,) = revivals(ground)
    assert (again.job, again.restarts) == (JOB, 1)
    assert {NODE, OTHER} == set(again.avoided)
    assert history(ground).deaths[-1].device_fault
    assert (len(history(ground).resumed), history(ground).in_a_row) == (2, 2)


def test_evidence_may_come_after_the_death() -> None:
    ground = Ground()
    moved(ground)
    died(ground)
    assert not history(ground).deaths[-1].device_fault
    ground.wait(70, every=10)
    assert revivals(ground) == []
    ground.fault(OTHER, policy=MOVES)
    assert [OTHER in one.avoided for one in revivals(ground)] == [True]
    assert history(ground).deaths[-1].device_fault


def test_a_node_that_does_not_answer_is_left_out_and_has_to_be_proven_dead() -> None:
    ground = Ground()
    moved(ground)
    ground.nodes[OTHER].answering = ground.nodes[OTHER].agent = False
    died(ground)
    ground.wait(70, every=10)
    (again,) = revivals(ground)
    assert (again.node, OTHER in again.avoided) == (OTHER, True)
    ground.end_chore(Kind.MOVE_JOB, PursuitResult.REFUSED, RefusalKind.UNSAFE)
    assert "could not be restarted" in texts(ground, Loudness.ALERT)[-1]
    assert Kind.RESTORE_JOB in {one.kind for one in ground.state.chores.values()}
    assert history(ground).run is None


def test_the_same_again_is_not_tried_and_a_person_is_notified_once() -> None:
    ground = Ground()
    moved(ground)
    died(ground)
    ground.wait(110, every=10)
    assert texts(ground, Loudness.ALERT) == []
    ground.wait(4000, every=60)
    (text,) = texts(ground, Loudness.ALERT)
    assert "the same nodes and the same checkpoint" in text
    assert revivals(ground) == []


def test_a_later_checkpoint_is_something_else() -> None:
    ground = Ground()
    moved(ground)
    died(ground, checkpoint="step-1000", step=1000)
    ground.wait(70, every=10)
    (again,) = revivals(ground)
    assert again.avoided == (NODE,)


def test_two_deaths_at_one_step_without_a_fault_are_the_jobs_own() -> None:
    ground = Ground()
    moved(ground)
    died(ground, checkpoint="step-1000", step=1000)
    ground.wait(70, every=10)
    ground.end_chore(
        Kind.MOVE_JOB, job=msgspec.structs.replace(SEEN, restarts=2, checkpoint="step-1000")
    )
    died(ground, checkpoint="step-1001", step=1000, restarts=2)
    ground.wait(400, every=10)
    assert len(revivals(ground)) == 1
    assert "at step 1000 without a fault" in texts(ground, Loudness.ALERT)[-1]


def test_what_befalls_many_is_waited_for_and_its_end_is_something_else() -> None:
    ground = Ground()
    moved(ground)
    case = ground.fault(OTHER, policy=MOVES, group="g1")
    storm = msgspec.structs.replace(case, open=False)
    ground.nodes[NODE].healthy = True
    died(ground)
    ground.wait(300, every=10)
    assert revivals(ground) == []
    ground.step(CaseChanged(node=OTHER, case=storm))
    assert [set(one.avoided) for one in revivals(ground)] == [{NODE}]


@pytest.mark.parametrize("verb", [Verb.STOP, Verb.HOLD])
def test_people_keep_it_from_being_restarted(verb: Verb) -> None:
    ground = Ground()
    moved(ground)
    died(ground, checkpoint="step-1000")
    ground.send_command(verb, "" if verb.of_all else NODE)
    ground.wait(300, every=10)
    assert revivals(ground) == []
    ground.send_command(
        Verb.START if verb is Verb.STOP else Verb.UNHOLD, "" if verb.of_all else NODE
    )
    assert len(revivals(ground)) == 1


@pytest.mark.parametrize("what", ["ceiling", "scheduler"])
def test_nothing_is_started_above_a_ceiling_or_without_a_scheduler(what: str) -> None:
    ground = Ground()
    moved(ground)
    died(ground, checkpoint="step-1000")
    if what == "ceiling":
        ground.settings = msgspec.structs.replace(SETTINGS, ceiling="remedy")
    else:
        ground.unavailable = "no answer in 10 s"
    ground.wait(300, every=10)
    assert revivals(ground) == []
    ground.wait(4000, every=60)
    text = texts(ground, Loudness.ALERT)[-1]
    assert "is not restarted" in text
    assert ("its scheduler does not answer now" in text) is (what == "scheduler")


def test_a_watch_that_comes_to_nothing_ends() -> None:
    ground = Ground()
    moved(ground)
    ground.end_chore(Kind.FOLLOW_JOB, PursuitResult.FAILED)
    assert history(ground).run is None
    assert ground.state.chores == {}


def test_one_that_its_scheduler_has_restarted_is_watched_further() -> None:
    ground = Ground()
    moved(ground)
    died(ground, state=JobState.RUNNING, failed=False, restarts=2, nodes=("n30", SPARE))
    assert "its scheduler has restarted it" in texts(ground, Loudness.NOTIFY)[-1]
    (note,) = [one for one in ground.notes if "has restarted it" in one.text]
    move = history(ground).run
    assert move is not None
    assert (note.node, note.incident) == (move.node, move.moved.mark.incident)
    watching = ground.state.chores[f"follow {NAME}"]
    assert watching.restarts == 2
    assert len(history(ground).deaths) == 1
    ground.wait(300)
    assert revivals(ground) == []


def test_a_job_that_runs_again_is_watched_again_and_its_lists_are_given_back() -> None:
    ground = Ground()
    moved(ground)
    died(ground, checkpoint="step-1000")
    ground.wait(70, every=10)
    runs = msgspec.structs.replace(SEEN, restarts=2, nodes=("n30", SPARE))
    ground.end_chore(Kind.MOVE_JOB, job=runs)
    assert "runs again on n30,n20" in texts(ground, Loudness.NOTIFY)[-1]
    assert ground.state.chores[f"follow {NAME}"].restarts == 2
    assert Kind.RESTORE_JOB not in {one.kind for one in ground.state.chores.values()}
    ground.end_chore(Kind.FOLLOW_JOB, job=runs)
    back = [one for one in ground.state.chores.values() if one.kind is Kind.RESTORE_JOB]
    assert [one.revive for one in back] == [True]


def test_a_second_bad_node_under_the_job_ends_its_run_and_counts() -> None:
    ground = Ground()
    moved(ground)
    ground.nodes[OTHER].jobs = (JOB,)
    ground.step()
    ground.fault(OTHER, policy=MOVES)
    ground.wait(130)
    ground.end(OTHER)
    assert ground.kinds(OTHER)[-1] is Kind.MOVE_JOB
    assert [one.kind for one in ground.cancelled] == [Kind.FOLLOW_JOB]
    assert [one.device_fault for one in history(ground).deaths] == [True]
    assert len(history(ground).resumed) == 2


def test_at_most_three_times_in_six_hours() -> None:
    ground = Ground()
    moved(ground)
    for restarts in (1, 2, 3):
        step = 1000 + restarts
        died(ground, checkpoint=f"step-{step}", step=step, restarts=restarts)
        ground.wait(600, every=10)
        if len(revivals(ground)) == restarts:
            runs = msgspec.structs.replace(SEEN, restarts=restarts + 1)
            ground.end_chore(Kind.MOVE_JOB, job=runs)
    assert len(revivals(ground)) == 2
    ground.wait(4000, every=60)
    assert "resumed 3 times within 6 h" in texts(ground, Loudness.ALERT)[-1]


# It takes nothing out.
ALERT = Policy(rule="nvidia.xid.app")


def restarted(ground: Ground, restarts: int, **fields: object) -> None:
    """The revival has come true."""
    seen = msgspec.structs.replace(SEEN, restarts=restarts, **fields)
    ground.end_chore(Kind.MOVE_JOB, job=seen)


def test_what_has_passed_is_tried_once_more_on_the_same_nodes_and_counts_a_little() -> None:
    ground = Ground()
    moved(ground)
    case = ground.fault(OTHER, policy=ALERT)
    died(ground)
    ground.clear(OTHER, case)
    ground.wait(70, every=10)
    (again,) = revivals(ground)
    assert again.avoided == (NODE,)
    assert (
        "on the same nodes, once: nvidia.xid.app on n10 has passed"
        in texts(ground, Loudness.NOTIFY)[-1]
    )
    scores = ground.state.scores
    assert score(scores, f"node:{OTHER}", ground.now) == pytest.approx(WEIGHTS[Failing.APP], 0.01)
    assert score(scores, f"serial:{case.serial}", ground.now) > 0


def test_the_second_time_it_is_restarted_without_that_node() -> None:
    ground = Ground()
    moved(ground)
    for restarts in (1, 2):
        case = ground.fault(OTHER, f"i{restarts}", policy=ALERT)
        died(ground, restarts=restarts)
        ground.clear(OTHER, case)
        ground.wait(160, every=10)
        if restarts == 1:
            restarted(ground, 2)
    assert [set(one.avoided) for one in revivals(ground)] == [{NODE}, {NODE, OTHER}]


def test_another_rule_on_the_same_node_has_a_try_of_its_own() -> None:
    ground = Ground()
    moved(ground)
    for restarts, rule in ((1, "nvidia.xid.app"), (2, "nvidia.xid.other")):
        case = ground.fault(OTHER, f"i{restarts}", policy=Policy(rule=rule))
        died(ground, restarts=restarts)
        ground.clear(OTHER, case)
        ground.wait(160, every=10)
        if restarts == 1:
            restarted(ground, 2)
    assert [set(one.avoided) for one in revivals(ground)] == [{NODE}, {NODE}]


def test_a_node_that_was_silent_and_answers_again_is_tried_once_more() -> None:
    ground = Ground()
    moved(ground)
    ground.nodes[OTHER].answering = False
    ground.step()
    died(ground)
    ground.nodes[OTHER].answering = True
    ground.wait(70, every=10)
    (again,) = revivals(ground)
    assert again.avoided == (NODE,)
    assert "the silence on n10 has passed" in texts(ground, Loudness.NOTIFY)[-1]


def test_what_has_not_passed_is_left_out_at_once() -> None:
    ground = Ground()
    moved(ground)
    ground.fault(OTHER, policy=ALERT)
    died(ground)
    ground.wait(70, every=10)
    assert [set(one.avoided) for one in revivals(ground)] == [{NODE, OTHER}]


EARLIER = "step-800"


def test_without_a_fault_or_a_new_checkpoint_it_goes_one_checkpoint_back_after_two_minutes() -> (
    None
):
    ground = Ground()
    moved(ground)
    died(ground, earlier=EARLIER)
    ground.wait(110, every=10)
    assert revivals(ground) == []
    ground.wait(20, every=10)
    (again,) = revivals(ground)
    assert (again.checkpoint, again.avoided) == (EARLIER, (NODE,))
    assert "from step-800, the checkpoint before its newest" in texts(ground, Loudness.NOTIFY)[-1]
    restarted(ground, 2)
    assert history(ground).latest == Try(nodes=tuple(sorted(SEEN.nodes)), checkpoint=EARLIER)


@pytest.mark.parametrize("step", [900, None])
def test_and_a_second_death_at_the_same_step_is_the_end_of_it(step: int | None) -> None:
    ground = Ground()
    moved(ground)
    died(ground, earlier=EARLIER, step=step)
    ground.wait(130, every=10)
    restarted(ground, 2, step=step)
    died(ground, earlier=EARLIER, step=step, restarts=2)
    ground.wait(4000, every=60)
    assert len(revivals(ground)) == 1
    assert "900 without a fault of a device" in texts(ground, Loudness.ALERT)[-1]


def test_one_that_has_got_further_since_starts_from_there() -> None:
    ground = Ground()
    moved(ground)
    died(ground, earlier=EARLIER)
    ground.wait(130, every=10)
    restarted(ground, 2)
    died(ground, earlier="step-900", checkpoint="step-1000", step=1000, restarts=2)
    ground.wait(160, every=10)
    assert [one.checkpoint for one in revivals(ground)] == [EARLIER, ""]


def test_evidence_that_comes_in_time_leaves_the_node_out_instead() -> None:
    ground = Ground()
    moved(ground)
    died(ground, earlier=EARLIER)
    ground.wait(100, every=10)
    ground.fault(OTHER, policy=MOVES)
    (again,) = revivals(ground)
    assert (again.checkpoint, OTHER in again.avoided) == ("", True)


def test_one_that_its_scheduler_restarted_is_not_thought_to_be_back_at_the_earlier_one() -> None:
    ground = Ground()
    moved(ground)
    died(ground, earlier=EARLIER)
    ground.wait(130, every=10)
    restarted(ground, 2)
    died(ground, state=JobState.RUNNING, failed=False, restarts=3)
    latest = history(ground).latest
    assert latest is not None
    assert latest.checkpoint == SEEN.checkpoint


def test_on_other_nodes_it_starts_from_its_newest_checkpoint_however_late() -> None:
    ground = Ground()
    moved(ground)
    died(ground, earlier=EARLIER)
    ground.send_command(Verb.STOP)
    ground.fault(OTHER, policy=MOVES)
    ground.wait(130, every=10)
    ground.send_command(Verb.START)
    (again,) = revivals(ground)
    assert (again.checkpoint, OTHER in again.avoided) == ("", True)


@pytest.mark.parametrize(("device_fault", "checkpoint"), [(False, EARLIER), (True, "")])
def test_after_a_fault_of_a_device_no_other_checkpoint_is_tried(
    *, device_fault: bool, checkpoint: str
) -> None:
    ground = Ground()
    moved(ground)
    died(ground, earlier=EARLIER)
    known = history(ground)
    last = msgspec.structs.replace(known.deaths[-1], device_fault=device_fault)
    known = msgspec.structs.replace(known, deaths=(last,))
    assert known.run is not None
    ctx = StepContext(ground.state, ground.settings, ground.now + 130)
    assert another(ctx, known, known.run).checkpoint == checkpoint


# When Slurm says that the job was submitted, since it was requeued.
REQUEUED = 1_000_200.0


def ran_well(ground: Ground) -> None:
    """It was moved, which has set its submission anew, and has run for long; nobody watches it."""
    moved_once = msgspec.structs.replace(SEEN, submitted=REQUEUED)
    ground.nodes[NODE].jobs = (JOB,)
    ground.fault(NODE, policy=MOVES)
    ground.end(NODE)
    ground.end(NODE, moved_to=SEEN.nodes, job=moved_once)
    ground.end_chore(Kind.FOLLOW_JOB, job=moved_once)
    assert history(ground).run is None


def is_moved(ground: Ground, submitted: float) -> bool:
    """Whether a job of that id is moved off the other node, too."""
    ground.wait(130)
    ground.nodes[OTHER].jobs = (msgspec.structs.replace(JOB, submitted=submitted),)
    ground.fault(OTHER, policy=MOVES)
    ground.end(OTHER)
    return Kind.MOVE_JOB in ground.kinds(OTHER)


def once() -> Ground:
    """Where a job may be begun again once."""
    resume = msgspec.structs.replace(SETTINGS.resume, most=1)
    return Ground(settings=msgspec.structs.replace(SETTINGS, resume=resume))


@pytest.mark.parametrize("submitted", [REQUEUED, JOB.submitted, 0.0])
def test_a_job_that_was_requeued_is_the_same_and_has_its_limits(submitted: float) -> None:
    """As we have seen it, as it was before, or where the scheduler does not say."""
    ground = once()
    ran_well(ground)
    assert not is_moved(ground, submitted)
    assert "resumed 1 times" in str(ground.state.remedies[OTHER].denial)


def test_an_id_that_is_given_again_inherits_neither_limits_nor_history() -> None:
    ground = once()
    ran_well(ground)
    assert is_moved(ground, 2_000_000.0)
    assert history(ground).submitted == (2_000_000.0,)
    assert len(history(ground).resumed) == 1


def test_a_job_that_is_watched_was_restarted_by_its_scheduler() -> None:
    ground = once()
    moved(ground)
    assert not is_moved(ground, 1_000_300.0)


def test_a_death_is_no_death_of_the_job_that_had_the_id_before() -> None:
    ground = Ground()
    ran_well(ground)
    ground.wait(130)
    other = msgspec.structs.replace(JOB, submitted=2_000_000.0)
    ground.nodes[OTHER].jobs = (other,)
    ground.fault(OTHER, policy=MOVES)
    ground.end(OTHER)
    dead = JobObservation(key=other, state=JobState.FINISHED, failed=True, nodes=(OTHER,))
    ground.end(OTHER, PursuitResult.REFUSED, RefusalKind.IMPOSSIBLE, job=dead)
    assert len(history(ground).deaths) == 1
    assert history(ground).submitted == (2_000_000.0,)


def test_a_history_of_an_older_journal_is_of_whoever_has_the_id() -> None:
    ground = once()
    ran_well(ground)
    blank = msgspec.structs.replace(history(ground), submitted=())
    retries = msgspec.structs.replace(ground.state.retries, jobs={NAME: blank})
    ground.state = msgspec.structs.replace(ground.state, retries=retries)
    assert not is_moved(ground, 2_000_000.0)


def test_one_whose_launcher_asks_for_no_restart_is_left_to_people_whatever_is_another() -> None:
    ground = Ground()
    moved(ground)
    ground.wait(60)
    died(ground, checkpoint="step-950", step=950, declined="its own launcher asks for no restart")
    ground.fault(OTHER)
    ground.wait(400)
    assert revivals(ground) == []
    (text,) = texts(ground, Loudness.ALERT)
    assert text == (
        "job 17 is not restarted: its own launcher asks for no restart; a person has to look"
    )
    assert history(ground).run is None
