"""A job that waits on while its node is looked after gets a spare as soon as there is one."""

import msgspec
import pytest

from accelwatch.action.intent import Intent
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import JobObservation, JobState
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.state.changes import Verb
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult
from accelwatch.remediation.policy.state.spares.model import SpareStatus
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.settings import SpareSettings
from support.remediation.small_fleet import JOB, SETTINGS, Ground, job_policy

NODE, SPARE = "n03", "n39"
DRAWS = msgspec.structs.replace(job_policy(draw_spare=True), ladder=())


def waiting_on() -> Ground:
    """No spare was there, and the time of the move is over; the spare is well now."""
    known = SpareSettings(nodes=(SPARE,), alike=())
    ground = Ground(settings=msgspec.structs.replace(SETTINGS, spares=known))
    ground.nodes[NODE].jobs = (JOB,)
    ground.nodes[SPARE].healthy = None
    ground.step()
    ground.fault(NODE, policy=DRAWS)
    ground.end(NODE)
    ground.nodes[NODE].jobs = ()
    ground.step()
    waits = JobObservation(key=JOB, state=JobState.WAITING)
    ground.end(NODE, PursuitResult.FAILED, job=waits, original={"exclude": "n09"})
    assert ground.stage(NODE) is Stage.QUARANTINED
    ground.wait(3600, every=60)
    assert [one.kind for one in ground.started].count(Kind.DRAW_SPARE) == 0
    return ground


def drawing() -> Ground:
    ground = waiting_on()
    ground.nodes[SPARE].healthy = True
    ground.wait(2, every=1)
    (draw,) = [one for one in ground.state.chores.values() if one.kind is Kind.DRAW_SPARE]
    assert (draw.job, draw.spare) == (JOB, SPARE)
    return ground


def status(ground: Ground) -> SpareStatus:
    return ground.state.spares.spares[SPARE].standing


def move_of(ground: Ground) -> Intent:
    (move,) = [one for one in ground.state.chores.values() if one.kind is Kind.MOVE_JOB]
    return move


def test_it_is_drawn_and_the_job_moved_to_it() -> None:
    ground = drawing()
    before = move_of(ground)
    ground.end_chore(Kind.DRAW_SPARE)
    assert status(ground) is SpareStatus.IN_USE
    assert before in ground.cancelled
    ground.step(
        seen=(Pursued(intent=before, result=PursuitResult.CANCELLED, time=ground.now, text=""),)
    )
    move = move_of(ground)
    assert (move.spare, dict(move.original)) == (SPARE, {"exclude": "n09"})
    assert ground.started[-1] == move
    ground.end_chore(
        Kind.MOVE_JOB,
        job=JobObservation(key=JOB, state=JobState.RUNNING, nodes=(SPARE,), restarts=1),
    )
    ground.send_command(Verb.FORGET, NODE)
    assert status(ground) is SpareStatus.RETURNING


def test_one_that_is_not_given_is_requested_again_after_a_minute_and_reported_once() -> None:
    ground = drawing()
    ground.end_chore(Kind.DRAW_SPARE, PursuitResult.FAILED)
    assert status(ground) is SpareStatus.READY
    ground.wait(20, every=1)
    assert [one.kind for one in ground.started].count(Kind.DRAW_SPARE) == 1
    ground.wait(60, every=1)
    assert [one.kind for one in ground.started].count(Kind.DRAW_SPARE) == 2
    notes = [note for note in ground.notes if "no spare replaces" in note.text]
    assert [note.loudness for note in notes] == [Loudness.ALERT]


@pytest.mark.parametrize(
    ("ending", "original", "wanted"),
    [
        (PursuitResult.ACHIEVED, {"group": "spare"}, SpareStatus.RETURNING),
        (PursuitResult.CANCELLED, {"group": "spare"}, SpareStatus.RETURNING),
        (PursuitResult.CANCELLED, {}, SpareStatus.READY),
    ],
)
def test_one_that_is_drawn_for_a_node_that_is_gone_comes_back(
    ending: PursuitResult, original: dict[str, str], wanted: SpareStatus
) -> None:
    ground = drawing()
    ground.send_command(Verb.FORGET, NODE)
    ground.end_chore(Kind.DRAW_SPARE, ending, original=original)
    assert status(ground) is wanted
    assert ground.state.spares.spares[SPARE].original == original


def test_one_that_dies_meanwhile_is_away_until_it_is_mended() -> None:
    ground = drawing()
    ground.fault(SPARE, policy=msgspec.structs.replace(DRAWS, draw_spare=False))
    ground.end_chore(Kind.DRAW_SPARE)
    spare = ground.state.spares.spares[SPARE]
    assert (spare.standing, spare.away) == (SpareStatus.FAILED, True)


def test_nobody_knows_whether_it_was_drawn() -> None:
    ground = drawing()
    ground.end_chore(Kind.DRAW_SPARE, PursuitResult.UNKNOWN)
    assert "it is unknown whether the spare n39 was drawn" in ground.notes[-1].text
    ground.end_chore(Kind.DRAW_SPARE)
    assert status(ground) is SpareStatus.IN_USE


def test_none_is_drawn_after_a_stop() -> None:
    ground = waiting_on()
    ground.send_command(Verb.STOP)
    ground.nodes[SPARE].healthy = True
    ground.wait(120, every=10)
    assert [one.kind for one in ground.started].count(Kind.DRAW_SPARE) == 0


def test_a_rule_that_draws_no_spare_gets_none_while_its_job_moves() -> None:
    known = SpareSettings(nodes=(SPARE,), alike=())
    ground = Ground(settings=msgspec.structs.replace(SETTINGS, spares=known))
    ground.nodes[NODE].jobs = (JOB,)
    ground.fault(NODE, policy=msgspec.structs.replace(DRAWS, draw_spare=False))
    ground.end(NODE)
    assert ground.kinds(NODE)[-1] is Kind.MOVE_JOB
    ground.wait(300, every=10)
    assert ground.cancelled == []
    assert Kind.DRAW_SPARE not in ground.kinds(NODE)
