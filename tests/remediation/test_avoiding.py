"""Where a job that is moved may not start is what is bad now, however long ago the move was decided."""

import msgspec
import pytest

from accelwatch.action.intent import Intent, JobKey
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import JobObservation, JobState, Observed
from accelwatch.action.step import Achieved, Proposal, Step
from accelwatch.remediation.execution.operations.operation import OperationState
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.jobs.avoiding import as_of_now
from accelwatch.remediation.policy.state.changes import Verb
from accelwatch.remediation.policy.state.pursued import PursuitResult
from remediation.bench import Bench, intent
from support.remediation.small_fleet import JOB, Ground, job_policy

NODE, OTHER, THIRD = "n03", "n20", "n30"
MOVES = msgspec.structs.replace(job_policy(), ladder=())


def moving(*nodes: str) -> tuple[Ground, Intent]:
    """A job runs on some nodes, the first goes bad, and the job is being moved off it."""
    ground = Ground()
    for name in nodes:
        ground.nodes[name].jobs = (JOB,)
    ground.fault(NODE, policy=MOVES)
    ground.end(NODE)
    move = ground.flying[NODE]
    assert move.kind is Kind.MOVE_JOB
    return ground, move


def avoided(ground: Ground, move: Intent) -> tuple[str, ...]:
    return as_of_now(ground.state, move, ground.now).bad_nodes


def test_a_node_that_goes_bad_is_added_and_one_that_is_well_again_is_not_avoided() -> None:
    ground, move = moving(NODE)
    assert as_of_now(ground.state, move, ground.now) is move
    case = ground.fault(OTHER, policy=MOVES)
    assert (move.bad_nodes, avoided(ground, move)) == ((NODE,), (NODE, OTHER))
    ground.clear(OTHER, case)
    ground.send_command(Verb.FORGET, OTHER)
    assert avoided(ground, move) == (NODE,)


def test_the_node_that_it_leaves_is_avoided_whatever_is_seen_of_it() -> None:
    ground, move = moving(NODE)
    ground.send_command(Verb.FORGET, NODE)
    assert avoided(ground, move) == (NODE,)


def test_other_intents_stay_as_they_were_decided() -> None:
    ground, move = moving(NODE)
    ground.fault(OTHER, policy=MOVES)
    cancel = msgspec.structs.replace(move, kind=Kind.CANCEL_JOB)
    assert as_of_now(ground.state, cancel, ground.now) is cancel


def test_a_job_that_is_revived_avoids_those_of_its_nodes_that_it_was_to_avoid() -> None:
    ground, move = moving(NODE)
    runs = JobObservation(key=JOB, state=JobState.RUNNING, nodes=(THIRD,), restarts=1)
    ground.end(NODE, moved_to=(THIRD,), job=runs)
    revival = msgspec.structs.replace(move, revive=True, bad_nodes=(THIRD, "n31"))
    ground.fault(OTHER, policy=MOVES)
    assert avoided(ground, revival) == (THIRD, NODE, OTHER)


def test_one_that_runs_on_what_went_bad_meanwhile_was_not_moved_back() -> None:
    ground, _ = moving(NODE)
    ground.fault(OTHER, policy=MOVES)
    ground.end(NODE, moved_to=(OTHER,))
    assert not [note for note in ground.notes if note.loudness is Loudness.ALERT]


def test_an_old_copy_is_looked_for_wherever_the_job_is_known_to_have_run() -> None:
    _, move = moving(NODE, OTHER)
    assert move.ran_on == (NODE, OTHER)
    assert move.may_run_on == (NODE,)
    bad = msgspec.structs.replace(move, bad_nodes=(NODE, OTHER, THIRD))
    assert bad.may_run_on == (NODE, OTHER)
    assert msgspec.structs.replace(bad, ran_on=()).may_run_on == (NODE, OTHER, THIRD)


def test_a_second_move_knows_where_the_job_ran_and_what_the_first_has_changed() -> None:
    ground, _ = moving(NODE, OTHER)
    for name in (NODE, OTHER):
        ground.nodes[name].jobs = ()
    ground.send_command(Verb.STOP)
    ground.end(NODE, PursuitResult.CANCELLED, original={"exclude": "n09"})
    ground.send_command(Verb.START)
    ground.wait(400, every=10)
    move = ground.flying[NODE]
    assert (move.kind, move.job) == (Kind.MOVE_JOB, JOB)
    assert (move.ran_on, dict(move.original)) == ((NODE, OTHER), {"exclude": "n09"})


def test_the_job_of_another_node_that_has_its_name_elsewhere_is_another() -> None:
    ground = Ground()
    ground.nodes[NODE].jobs = (JOB,)
    ground.nodes[OTHER].jobs = (JobKey("c", "18", JOB.submitted),)
    ground.fault(NODE, policy=MOVES)
    ground.end(NODE)
    assert ground.flying[NODE].ran_on == (NODE,)


def correcting(bench: Bench, *bad: tuple[str, ...]) -> None:
    """What is bad, each time that somebody asks; the last stays."""
    left = list(bad)

    def as_of_now(intent: Intent) -> Intent:
        now = left.pop(0) if len(left) > 1 else left[0]
        return msgspec.structs.replace(intent, bad_nodes=now)

    bench.action.corrects = frozenset({Kind.MOVE_JOB})  # type: ignore[attr-defined]
    bench.site = bench.site._replace(as_of_now=as_of_now)


def lists(bench: Bench, state: OperationState) -> list[str]:
    """The lists that a job was to be given, by what has become of it."""
    known = [one for one in bench.operations() if one.step.kind == "exclude"]
    return [one.step.arguments["nodes"] for one in known if one.state is state]


def test_a_list_that_is_out_of_date_by_the_time_of_the_command_is_not_set() -> None:
    bench = Bench()
    move = intent(Kind.MOVE_JOB, job=bench.job("n1"), bad_nodes=("n1",))
    correcting(bench, ("n1",), ("n1", "n2"))
    end = bench.pursue(move)
    assert end is not None
    assert end.result is PursuitResult.ACHIEVED
    assert lists(bench, OperationState.CANCELLED) == ["n1"]
    assert lists(bench, OperationState.OBSERVED) == ["n1,n2"]
    bench.loop.close()


def test_an_action_that_does_not_ask_for_it_keeps_the_nodes_of_the_decision() -> None:
    bench = Bench()
    move = intent(Kind.MOVE_JOB, job=bench.job("n1"), bad_nodes=("n1",))
    correcting(bench, ("n1", "n2"))
    del bench.action.corrects  # type: ignore[attr-defined]
    assert bench.pursue(move) is not None
    assert lists(bench, OperationState.OBSERVED) == ["n1"]
    bench.loop.close()


def test_a_list_that_changes_to_and_fro_is_no_step_that_does_not_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench()
    job = bench.job("n1")
    wanted = ["n1", "n1,n2"] * 6

    def propose(_: Intent, observed: Observed) -> Proposal:
        while wanted and observed.own["exclude"] == wanted[0]:
            wanted.pop(0)
        if not wanted:
            return Achieved("so")
        arguments = {"job": job.id, "nodes": wanted[0]}
        return Step(kind="exclude", arguments=arguments, text=f"exclude {wanted[0]}")

    monkeypatch.setattr(bench.action, "propose", propose)
    end = bench.pursue(intent(Kind.MOVE_JOB, job=job, bad_nodes=("n1",)))
    assert end is not None
    assert end.result is PursuitResult.ACHIEVED
    bench.loop.close()
