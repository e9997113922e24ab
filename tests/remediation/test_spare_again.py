"""A spare is asked for until a job runs: again when one becomes free, and another when one dies."""

from collections.abc import Mapping

import msgspec
import pytest

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.step import RefusalKind
from accelwatch.alerting.rules.document import Severity
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.state.case import Case
from accelwatch.remediation.policy.state.changes import CaseChanged, Verb
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.state.spares.model import Spare, SpareStatus
from accelwatch.remediation.settings import SpareSettings
from support.remediation.small_fleet import JOB, SETTINGS, Ground, job_policy

NODE, FIRST, SECOND = "n03", "n38", "n39"
DRAWS = job_policy(draw_spare=True)
# What its draw replaced at the scheduler of a spare.
DRAWN_FROM = {"group": "spare"}
ONLY_OUT = msgspec.structs.replace(job_policy(), ladder=())


def ground_with(*spares: str, jobs: bool = True) -> Ground:
    known = SpareSettings(nodes=spares, alike=())
    ground = Ground(settings=msgspec.structs.replace(SETTINGS, spares=known))
    if jobs:
        ground.nodes[NODE].jobs = (JOB,)
    return ground


def moving_without() -> Ground:
    """The only spare is not well, so a job is moved without one, and waits in the queue."""
    ground = ground_with(FIRST)
    ground.nodes[FIRST].healthy = None
    ground.step()
    ground.fault(NODE, policy=DRAWS)
    ground.end(NODE)
    assert ground.flying[NODE].kind is Kind.MOVE_JOB
    ground.nodes[NODE].jobs = ()
    return ground


def status(ground: Ground, name: str) -> SpareStatus:
    return ground.state.spares.spares[name].standing


def returns(ground: Ground) -> list[Mapping[str, str]]:
    """What the draws had replaced of the spares that were returned."""
    return [one.original for one in ground.started if one.kind is Kind.RETURN_SPARE]


def test_a_spare_is_returned_to_where_its_draw_found_it() -> None:
    ground = ground_with(FIRST)
    ground.fault(NODE, policy=DRAWS)
    ground.end(NODE)
    ground.end(NODE, original=DRAWN_FROM)
    ground.killed()
    ground.send_command(Verb.FORGET, NODE)
    assert returns(ground) == [DRAWN_FROM]
    ground.end_chore(Kind.RETURN_SPARE)
    assert ground.state.spares.spares[FIRST].original == {}


def alerts(ground: Ground) -> list[str]:
    return [note.text for note in ground.notes if note.loudness is Loudness.ALERT]


def drawn(ground: Ground) -> list[str]:
    return [one.spare for one in ground.started if one.kind is Kind.DRAW_SPARE]


def test_a_spare_that_becomes_well_is_drawn_for_a_job_that_waits() -> None:
    ground = moving_without()
    ground.wait(120, every=10)
    assert drawn(ground) == []
    ground.nodes[FIRST].healthy = True
    ground.wait(5, every=1)
    assert ground.cancelled == [ground.flying[NODE]]
    ground.end(NODE, PursuitResult.CANCELLED)
    assert (ground.flying[NODE].kind, drawn(ground)) == (Kind.DRAW_SPARE, [FIRST])
    ground.end(NODE)
    move = ground.flying[NODE]
    assert (move.kind, move.job, move.spare) == (Kind.MOVE_JOB, JOB, FIRST)
    assert status(ground, FIRST) is SpareStatus.IN_USE
    assert len(ground.state.retries.jobs[f"c/{JOB}"].resumed) == 1


def test_a_spare_that_another_node_gives_back_is_drawn_for_a_job_that_waits() -> None:
    ground = ground_with(FIRST)
    other = "n20"
    ground.nodes[other].jobs = (msgspec.structs.replace(JOB, id="18"),)
    ground.fault(other, policy=DRAWS)
    ground.end(other)
    ground.end(other)
    ground.end(other, moved_to=(FIRST,))
    assert status(ground, FIRST) is SpareStatus.IN_USE
    ground.now += 200
    ground.fault(NODE, policy=DRAWS)
    ground.end(NODE)
    ground.nodes[NODE].jobs = ()
    assert ground.flying[NODE].kind is Kind.MOVE_JOB
    ground.send_command(Verb.FORGET, other)
    ground.end_chore(Kind.RETURN_SPARE)
    ground.wait(5, every=1)
    ground.end(NODE, PursuitResult.CANCELLED)
    assert drawn(ground) == [FIRST, FIRST]


def test_a_person_is_notified_once_that_there_is_none_and_once_that_there_is() -> None:
    ground = moving_without()
    ground.wait(500, every=10)
    assert len(alerts(ground)) == 1
    assert (
        "no spare replaces n03: no spare fits: n38 is not known to be healthy" in alerts(ground)[0]
    )
    ground.nodes[FIRST].healthy = True
    ground.wait(5, every=1)
    ground.end(NODE, PursuitResult.CANCELLED)
    ground.end(NODE)
    assert len(alerts(ground)) == 1
    assert "the spare n38 now replaces n03" in [note.text for note in ground.notes]


def test_one_that_cannot_be_drawn_is_requested_again_after_a_minute() -> None:
    ground = ground_with(FIRST)
    ground.fault(NODE, policy=DRAWS)
    ground.end(NODE)
    ground.end(NODE, PursuitResult.REFUSED, RefusalKind.IMPOSSIBLE)
    assert ground.flying[NODE].kind is Kind.MOVE_JOB
    ground.wait(40, every=1)
    assert (drawn(ground), ground.cancelled) == ([FIRST], [])
    ground.wait(30, every=1)
    ground.end(NODE, PursuitResult.CANCELLED)
    assert drawn(ground) == [FIRST, FIRST]
    ground.end(NODE, PursuitResult.REFUSED, RefusalKind.IMPOSSIBLE)
    assert len(alerts(ground)) == 1


def test_a_young_hub_waits_until_it_has_seen_its_spares() -> None:
    ground = ground_with(FIRST)
    ground.fault(NODE, policy=DRAWS)
    flying = ground.flying[NODE]
    ground.send_command(Verb.STOP)
    ground.send_command(Verb.START)
    ground.flying[NODE] = flying
    ground.killed()
    ground.end(NODE)
    ground.nodes[FIRST].agent = False
    ground.wait(60, every=5)
    assert ground.remedy(NODE) is not None
    assert (alerts(ground), drawn(ground)) == ([], [])
    ground.nodes[FIRST].agent = True
    ground.wait(120, every=5)
    assert (alerts(ground), drawn(ground)) == ([], [FIRST])


def test_a_spare_that_never_reports_is_not_waited_for_by_an_older_hub() -> None:
    ground = ground_with("n99")
    ground.fault(NODE, policy=DRAWS)
    ground.end(NODE)
    assert ground.flying[NODE].kind is Kind.MOVE_JOB
    assert "n99 has not answered since the hub started" in alerts(ground)[0]


def dead(ground: Ground) -> Case:
    return ground.fault(FIRST, policy=ONLY_OUT, title="GPU 3 has fallen off the bus")


def test_a_spare_that_dies_while_it_is_drawn_is_replaced() -> None:
    ground = ground_with(FIRST, SECOND)
    ground.fault(NODE, policy=DRAWS)
    ground.end(NODE)
    assert drawn(ground) == [FIRST]
    dead(ground)
    assert status(ground, FIRST) is SpareStatus.FAILED
    ground.end(NODE, PursuitResult.CANCELLED)
    assert drawn(ground) == [FIRST, SECOND]
    assert ground.state.spares.spares[FIRST].away is False


def test_a_spare_whose_test_runs_is_left_to_it_when_its_draw_has_ended_late() -> None:
    day = 86_400.0
    known = SpareSettings(nodes=(FIRST,), alike=(), test="quick", test_max_age_s=day)
    ground = Ground(settings=msgspec.structs.replace(SETTINGS, spares=known))
    ground.end_chore(Kind.TEST)
    ground.nodes[NODE].jobs = (JOB,)
    ground.fault(NODE, policy=DRAWS)
    ground.end(NODE)
    assert drawn(ground) == [FIRST]
    case = dead(ground)
    ground.clear(FIRST, case)
    ground.wait(0.6 * day, every=600)
    assert status(ground, FIRST) is SpareStatus.TESTING
    ground.end(NODE, PursuitResult.CANCELLED)
    ground.wait(5, every=1)
    assert status(ground, FIRST) is SpareStatus.TESTING
    ground.end_chore(Kind.TEST)
    assert status(ground, FIRST) is SpareStatus.READY


@pytest.mark.parametrize("held", [False, True])
def test_one_that_was_drawn_all_the_same_comes_back_when_it_is_mended(held: bool) -> None:
    """A person's hold keeps it from being drawn, not from being put back where it was."""
    ground = ground_with(FIRST, SECOND)
    ground.fault(NODE, policy=DRAWS)
    ground.end(NODE)
    case = dead(ground)
    ground.end(NODE, original=DRAWN_FROM)
    spare = ground.state.spares.spares[FIRST]
    assert (spare.standing, spare.broken, spare.away) == (SpareStatus.FAILED, True, True)
    assert drawn(ground) == [FIRST, SECOND]
    if held:
        ground.send_command(Verb.HOLD, FIRST)
    ground.clear(FIRST, case)
    ground.wait(2, every=1)
    assert status(ground, FIRST) is SpareStatus.RETURNING
    assert returns(ground) == [DRAWN_FROM]
    ground.end_chore(Kind.RETURN_SPARE)
    assert ground.state.spares.spares[FIRST] == Spare()


def test_a_spare_that_dies_before_its_job_runs_is_replaced_and_left_to_its_own_remedy() -> None:
    ground = ground_with(FIRST, SECOND)
    ground.fault(NODE, policy=DRAWS)
    ground.end(NODE)
    ground.end(NODE, original=DRAWN_FROM)
    assert ground.flying[NODE].spare == FIRST
    ground.nodes[NODE].jobs = ()
    ground.now += 200
    case = dead(ground)
    assert ground.kinds(FIRST)[-1] is Kind.QUARANTINE
    assert any("n38, which replaces n03, is faulty itself" in note.text for note in ground.notes)
    ground.wait(2, every=1)
    ground.end(NODE, PursuitResult.CANCELLED)
    ground.end(NODE)
    move = ground.flying[NODE]
    assert (move.kind, move.spare, FIRST in move.bad_nodes) == (Kind.MOVE_JOB, SECOND, True)
    ground.end(FIRST)
    ground.end(NODE, moved_to=(SECOND,))
    ground.wait(30, every=1)
    assert status(ground, FIRST) is SpareStatus.FAILED
    ground.clear(FIRST, case)
    ground.wait(100, every=10)
    assert ground.flying[FIRST].kind is Kind.RELEASE
    ground.end(FIRST)
    assert status(ground, FIRST) is SpareStatus.RETURNING
    assert returns(ground) == [DRAWN_FROM]


def test_a_dead_spare_does_not_go_back_when_its_node_is_released() -> None:
    ground = ground_with(FIRST)
    ground.fault(NODE, policy=DRAWS)
    ground.end(NODE)
    ground.end(NODE)
    ground.end(NODE, moved_to=(FIRST,))
    case = Case(incident="i9", policy=ONLY_OUT, since=ground.now, evidence_at=ground.now)
    ground.nodes[FIRST].healthy = False
    ground.step(CaseChanged(node=FIRST, case=case))
    ground.send_command(Verb.FORGET, NODE)
    assert not [one for one in ground.started if one.kind is Kind.RETURN_SPARE]
    assert status(ground, FIRST) is SpareStatus.FAILED


@pytest.mark.parametrize("jobs", [True, False])
def test_a_spare_comes_back_only_when_nothing_runs_on_it(jobs: bool) -> None:
    ground = ground_with(FIRST)
    ground.fault(NODE, policy=DRAWS)
    ground.end(NODE)
    ground.end(NODE)
    ground.end(NODE, moved_to=(FIRST,))
    ground.nodes[FIRST].jobs = (JOB,) if jobs else ()
    policy = msgspec.structs.replace(ONLY_OUT, level=None)
    case = ground.fault(FIRST, policy=policy, severity=Severity.CRITICAL)
    assert status(ground, FIRST) is SpareStatus.FAILED
    ground.clear(FIRST, case)
    ground.wait(2, every=1)
    wanted = SpareStatus.FAILED if jobs else SpareStatus.RETURNING
    assert status(ground, FIRST) is wanted


def test_a_draw_that_was_cancelled_after_it_had_happened_is_undone() -> None:
    ground = ground_with(FIRST)
    ground.fault(NODE, policy=DRAWS)
    ground.end(NODE)
    ground.send_command(Verb.STOP)
    ground.end(NODE, PursuitResult.CANCELLED, original=DRAWN_FROM)
    assert status(ground, FIRST) is SpareStatus.RETURNING
    assert returns(ground) == [DRAWN_FROM]
    assert alerts(ground) == []
