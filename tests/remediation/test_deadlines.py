"""Whatever waits for longer than its deadline has a person notified of it, once, with what to do."""

from collections.abc import Callable

import msgspec
import pytest

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.step import RefusalKind
from accelwatch.alerting.rules.document import Fence, JobPolicy, When
from accelwatch.alerting.rules.rule import Deadlines
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.effects.deadlines import notify_overdue
from accelwatch.remediation.policy.state.case import Case, Limit, Policy
from accelwatch.remediation.policy.state.changes import CaseChanged, Verb
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.state.stage import Stage, Trigger
from accelwatch.remediation.policy.table.ignored import IGNORED
from accelwatch.remediation.policy.table.machine import ROWS, TABLE
from accelwatch.remediation.settings import SpareSettings
from support.remediation.small_fleet import JOB, POLICY, SETTINGS, Ground, job_policy

NODE = "n03"
DAY_S = 86_400.0
TESTED = msgspec.structs.replace(POLICY, ladder=(), tests=("quick",))
RESETS = msgspec.structs.replace(POLICY, ladder=(Limit("reset"),))
ONLY_OUT = msgspec.structs.replace(POLICY, ladder=())
NOTIFYING = {row.stage for row in TABLE if notify_overdue in row.does}


def taken_out(policy: Policy = ONLY_OUT, *, job: bool = False) -> tuple[Ground, Case]:
    ground = Ground()
    ground.nodes[NODE].jobs = (JOB,) if job else ()
    ground.step()
    case = ground.fault(NODE, policy=policy)
    ground.end(NODE)
    return ground, case


def suspect() -> Ground:
    """Another machine boots under its name, so nothing may be done to it."""
    ground = Ground()
    ground.settings = msgspec.structs.replace(SETTINGS, nodes={"n05": NODE})
    ground.fault(NODE)
    return ground


def quarantining() -> Ground:
    ground = Ground()
    ground.fault(NODE)
    return ground


def fencing() -> Ground:
    ground = Ground()
    ground.nodes[NODE].jobs = (JOB,)
    ground.step()
    ground.nodes[NODE].answering = ground.nodes[NODE].agent = False
    ground.fault(NODE, policy=job_policy(fence=Fence.REQUIRE))
    ground.wait(100, every=10)
    ground.end(NODE)
    ground.wait(2, every=1)
    return ground


def verifying(policy: Policy = ONLY_OUT) -> Ground:
    ground, case = taken_out(policy)
    ground.step(CaseChanged(node=NODE, case=msgspec.structs.replace(case, open=False)))
    ground.nodes[NODE].healthy = True if policy.tests else None
    return ground


def releasing() -> Ground:
    ground = verifying(TESTED)
    ground.wait(90, every=10)
    ground.end(NODE)
    assert ground.flying[NODE].kind is Kind.RELEASE
    return ground


# How a remedy comes to each stage that can wait; then nothing ends and nothing changes.
WAITS: dict[Stage, Callable[[], Ground]] = {
    Stage.SUSPECT: suspect,
    Stage.QUARANTINING: quarantining,
    Stage.QUARANTINED: lambda: taken_out()[0],
    Stage.FENCING: fencing,
    Stage.DRAINING: lambda: taken_out(
        msgspec.structs.replace(job_policy(), when=When.AFTER_JOB), job=True
    )[0],
    Stage.REMEDIATING: lambda: taken_out(POLICY)[0],
    Stage.VERIFYING: verifying,
    Stage.RELEASING: releasing,
    Stage.SERVICE: lambda: taken_out(msgspec.structs.replace(POLICY, ladder=(Limit("service"),)))[
        0
    ],
}


def alerts(ground: Ground, since: int = 0) -> list[str]:
    return [note.text for note in ground.notes[since:] if note.loudness is Loudness.ALERT]


@pytest.mark.parametrize("stage", Stage)
def test_every_stage_has_a_deadline_or_a_reason_for_none(stage: Stage) -> None:
    rows = ROWS.get((stage, Trigger.OVERDUE), ())
    reasons = [
        one.why for one in IGNORED if stage in one.stages and Trigger.OVERDUE in one.triggers
    ]
    assert len(rows) + len(reasons) == 1
    assert all(notify_overdue in row.does for row in rows)
    assert (stage in WAITS) is (stage in NOTIFYING)


@pytest.mark.parametrize("stage", sorted(NOTIFYING))
def test_no_stage_is_waited_in_without_one_notification_and_exactly_one(stage: Stage) -> None:
    ground = WAITS[stage]()
    assert ground.stage(NODE) is stage
    count, started_at = len(ground.notes), ground.now
    while not alerts(ground, count):
        ground.wait(30, every=30)
        assert ground.now - started_at < 3600, "a person is notified within the hour"
    first = ground.now
    ground.wait(DAY_S, every=1200)
    assert ground.stage(NODE) is stage
    assert len(alerts(ground, count)) == 1
    assert f"after {(first - started_at) / 60:.0f} min" in alerts(ground, count)[0]


@pytest.mark.parametrize(
    ("policy", "end_s", "expected"),
    [
        (job_policy(), 600, "job 17 of n03 does not run elsewhere after 10 min"),
        (job_policy(signal="USR1"), 600, "job 17 got no checkpoint signal after 10 min"),
        (
            msgspec.structs.replace(POLICY, job=JobPolicy.CANCEL),
            600,
            "job 17 is not cancelled after 10 min, as n03 is drained",
        ),
        (job_policy(when=When.AFTER_JOB), 1800, "(17); the rule waits for their end"),
        (
            msgspec.structs.replace(POLICY, job=JobPolicy.NOTIFY),
            1800,
            "(17); the rule waits for their end",
        ),
        (POLICY, 1200, "the reboot of n03 has not ended after 20 min"),
        (RESETS, 1200, "the reset of n03 has not ended after 20 min"),
        (ONLY_OUT, 1800, "n03 takes no work, and nothing else is done about it after 30 min"),
    ],
)
def test_what_is_late_is_named(policy: Policy, end_s: float, expected: str) -> None:
    runs = policy not in (POLICY, RESETS, ONLY_OUT)
    ground, _ = taken_out(policy, job=runs)
    ground.wait(end_s - 10, every=5)
    assert alerts(ground) == []
    ground.wait(20, every=5)
    (text,) = alerts(ground)
    assert expected in text


def test_a_job_that_waits_and_then_the_next_are_two_waits() -> None:
    ground, _ = taken_out(job_policy(), job=True)
    other = msgspec.structs.replace(JOB, id="18")
    ground.nodes[NODE].jobs = (JOB, other)
    ground.wait(700, every=10)
    assert ["job 17" in text for text in alerts(ground)] == [True]
    ground.end(NODE, moved_to=("n20",))
    assert ground.flying[NODE].job == other
    ground.wait(500, every=10)
    assert len(alerts(ground)) == 1
    ground.wait(200, every=10)
    assert ["job 18" in text for text in alerts(ground)] == [False, True]
    ground.wait(3600, every=60)
    assert len(alerts(ground)) == 2


def test_a_test_that_hangs_is_reported_before_its_verification_is_late() -> None:
    ground = verifying(TESTED)
    ground.wait(90, every=10)
    assert ground.flying[NODE].kind is Kind.TEST
    ground.wait(910, every=10)
    assert [
        "the test quick of n03 has not ended after 15 min" in one for one in alerts(ground)
    ] == [True]
    ground.wait(DAY_S, every=600)
    assert len(alerts(ground)) == 1


def test_a_spare_that_is_not_given_is_reported() -> None:
    spares = SpareSettings(nodes=("n38",), alike=())
    ground = Ground(settings=msgspec.structs.replace(SETTINGS, spares=spares))
    ground.nodes[NODE].jobs = (JOB,)
    ground.fault(NODE, policy=job_policy(draw_spare=True))
    ground.end(NODE)
    assert ground.flying[NODE].kind is Kind.DRAW_SPARE
    ground.wait(610, every=10)
    assert ["the spare n38 is not drawn after" in text for text in alerts(ground)] == [True]


@pytest.mark.parametrize(("deadline_s", "count"), [(60.0, 1), (1200.0, 0)])
def test_the_rule_says_how_long(deadline_s: float, count: int) -> None:
    policy = job_policy(deadlines=Deadlines(move_s=deadline_s))
    ground, _ = taken_out(policy, job=True)
    ground.wait(900, every=10)
    assert len(alerts(ground)) == count


def test_what_is_given_up_has_more_time_than_it_takes_to_notify_a_person() -> None:
    policy = job_policy(deadlines=Deadlines(move_s=3600.0))
    ground, _ = taken_out(policy, job=True)
    move = ground.flying[NODE]
    assert move.deadline - move.asked == 7200.0
    usual, _ = taken_out(job_policy(), job=True)
    assert usual.flying[NODE].deadline - usual.flying[NODE].asked == 1800.0


def test_a_new_stage_is_a_new_wait() -> None:
    ground, case = taken_out()
    ground.wait(1900, every=100)
    assert len(alerts(ground)) == 1
    ground.step(CaseChanged(node=NODE, case=msgspec.structs.replace(case, open=False)))
    ground.nodes[NODE].healthy = None
    ground.wait(2000, every=100)
    assert len(alerts(ground)) == 2


@pytest.mark.parametrize("verb", [Verb.STOP, Verb.HOLD])
def test_what_a_person_has_stopped_is_not_late(verb: Verb) -> None:
    ground, _ = taken_out()
    ground.send_command(verb, "" if verb is Verb.STOP else NODE)
    ground.wait(7200, every=600)
    assert alerts(ground) == []
    ground.send_command(
        Verb.START if verb is Verb.STOP else Verb.UNHOLD, "" if verb is Verb.STOP else NODE
    )
    assert len(alerts(ground)) == 1


def test_who_took_a_node_out_by_hand_knows_that_it_is_out() -> None:
    ground = Ground()
    ground.send_command(Verb.QUARANTINE, NODE)
    ground.end(NODE)
    ground.wait(DAY_S, every=600)
    assert alerts(ground) == []


def test_a_node_that_is_only_observed_is_late_with_nothing() -> None:
    ground = Ground()
    ground.fault(NODE, policy=Policy(rule="r", level=POLICY.level))
    ground.wait(DAY_S, every=600)
    assert alerts(ground) == []


def test_a_move_that_hangs_on_another_node_is_reported_once() -> None:
    ground, _ = taken_out(job_policy(), job=True)
    ground.nodes["n07"].jobs, ground.nodes["n07"].answering = (JOB,), False
    ground.wait(1500, every=10)
    assert len(alerts(ground)) == 1


def test_a_scheduler_that_is_silent_for_an_hour_is_reported_by_each_node_that_waits() -> None:
    ground, _ = taken_out(POLICY)
    ground.end(NODE, PursuitResult.REFUSED, RefusalKind.IMPOSSIBLE)
    ground.unavailable = "no answer in 10 s"
    ground.wait(3500, every=10)
    count = len(alerts(ground))
    ground.wait(200, every=10)
    assert len(alerts(ground)) == count + 1


def test_a_clock_that_was_set_back_makes_no_wait_longer_than_it_is() -> None:
    ground, _ = taken_out(job_policy(), job=True)
    ground.set_back(3600.0)
    ground.step(look=False)
    ground.wait(700, every=10)
    assert len(alerts(ground)) == 1


def test_what_was_journaled_before_there_were_deadlines_has_the_usual_ones() -> None:
    policy = msgspec.json.decode(msgspec.json.encode({"rule": "r"}), type=Policy)
    assert policy.deadlines == Deadlines()
