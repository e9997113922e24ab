"""A plan: what would be done, what is in the way, what it costs, and what a yes is bound to."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import HoldState
from accelwatch.action.step import RefusalKind
from accelwatch.alerting.rules.document import Mode, Severity
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.guards.denial import DenialKind
from accelwatch.remediation.policy.plan.model import Plan, Worth
from accelwatch.remediation.policy.plan.plan import planned
from accelwatch.remediation.policy.state.changes import Verb
from accelwatch.remediation.policy.state.clocks import MOST_FAILURES
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.state.stage import Stage
from support.remediation.small_fleet import JOB, POLICY, SETTINGS, Ground, job_policy

WORTH = Worth(devices=8, job_devices=512, checkpoint_age_s=1800.0)
APPROVING = msgspec.structs.replace(POLICY, mode=Mode.APPROVE)


def plan(ground: Ground, node: str = "n03", worth: Worth | None = None) -> Plan:
    return planned(ground.state, node, ground.now, ground.settings, worth)


def test_a_healthy_node_has_nothing_to_be_done() -> None:
    assert plan(Ground()).steps == ()
    assert "nothing" in plan(Ground()).text


def test_a_plan_is_what_is_then_done() -> None:
    ground = Ground()
    ground.send_command(Verb.STOP)
    case = ground.fault("n03")
    steps = plan(ground).steps
    assert [step.kind for step in steps] == [Kind.QUARANTINE, Kind.REBOOT, Kind.RELEASE]
    assert DenialKind.STOPPED in {denial.why for denial in steps[0].in_the_way}
    ground.send_command(Verb.START)
    ground.end("n03")
    ground.end("n03")
    ground.clear("n03", case)
    ground.wait(90)
    ground.end("n03")
    assert ground.kinds("n03") == [step.kind for step in steps]


def test_everything_in_the_way_is_shown_not_the_first_only() -> None:
    ground = Ground()
    ground.nodes["n03"].ceiling = "observe"
    ground.send_command(Verb.HOLD, "n03", reason="mine")
    ground.fault("n03", trusted=False, policy=APPROVING, group="g1")
    whys = {denial.why for denial in plan(ground).steps[0].in_the_way}
    assert whys >= {
        DenialKind.CEILING,
        DenialKind.VETOED,
        DenialKind.TRUST,
        DenialKind.APPROVAL,
        DenialKind.GROUP,
    }


@pytest.mark.parametrize(
    ("hold_state", "maintenance", "text"),
    [
        (HoldState.OPEN, False, ""),
        (HoldState.FOREIGN, False, "n03 is held by a person or another program by root"),
        (HoldState.DOWN, False, "the scheduler has given n03 up by root"),
        (HoldState.OPEN, True, "n03 is reserved for maintenance"),
    ],
)
def test_what_somebody_else_has_is_not_taken_out(
    hold_state: HoldState, maintenance: bool, text: str
) -> None:
    ground = Ground()
    node = ground.nodes["n03"]
    node.hold_state, node.maintenance, node.set_by = hold_state, maintenance, "root"
    ground.fault("n03")
    denials = [one for one in plan(ground).steps[0].in_the_way if one.why is DenialKind.FOREIGN]
    assert [one.text for one in denials] == ([text] if text else [])
    assert ground.kinds("n03") == ([] if text else [Kind.QUARANTINE])


def test_a_yes_is_bound_to_the_plan_that_was_seen() -> None:
    ground = Ground()
    ground.fault("n03", policy=APPROVING)
    assert ground.stage("n03") is Stage.AWAITING_APPROVAL
    seen = plan(ground).digest
    ground.send_command(Verb.APPROVE, "n03", digest="0" * 16)
    assert ground.kinds("n03") == []
    other = msgspec.structs.replace(APPROVING, rule="other", ladder=())
    ground.fault("n03", "i-other", policy=other, severity=Severity.CRITICAL)
    assert plan(ground).digest != seen
    ground.send_command(Verb.APPROVE, "n03", digest=seen)
    assert ground.kinds("n03") == []
    ground.send_command(Verb.APPROVE, "n03", digest=plan(ground).digest)
    assert ground.kinds("n03") == [Kind.QUARANTINE]


def test_a_no_holds_for_its_time() -> None:
    ground = Ground()
    ground.fault("n03", policy=APPROVING)
    ground.send_command(Verb.DENY, "n03", until=ground.now + 600)
    assert ground.stage("n03") is Stage.SUPPRESSED
    ground.wait(660, every=60)
    assert ground.stage("n03") is Stage.AWAITING_APPROVAL


def test_jobs_and_a_node_that_does_not_answer_are_in_the_plan() -> None:
    ground = Ground()
    ground.nodes["n03"].jobs = (JOB,)
    ground.fault("n03", policy=job_policy(mode=Mode.OBSERVE, signal="USR1"))
    kinds = [step.kind for step in plan(ground).steps]
    assert kinds[:3] == [Kind.QUARANTINE, Kind.SIGNAL_JOB, Kind.MOVE_JOB]
    ground.nodes["n03"].answering = ground.nodes["n03"].agent = False
    ground.wait(120)
    assert [step.kind for step in plan(ground).steps][1] is Kind.FENCE


def test_a_price_weighs_the_job_against_the_node() -> None:
    ground = Ground()
    ground.nodes["n03"].jobs = (JOB,)
    ground.fault("n03", policy=job_policy(mode=Mode.OBSERVE))
    price = plan(ground, worth=WORTH).price
    assert price is not None
    assert price.saved == 1.5 * 512
    assert round(price.lost, 2) == round(0.25 * 8 + 60 / 3600 * 8 + (0.55 + 0.5) * 512, 2)
    assert plan(ground).price is None


def test_what_a_person_took_out_has_no_plan_of_a_rule() -> None:
    ground = Ground()
    ground.send_command(Verb.QUARANTINE, "n03")
    ground.end("n03")
    assert ground.stage("n03") is Stage.QUARANTINED
    ground.wait(3600, every=300)
    assert ground.kinds("n03") == [Kind.QUARANTINE]
    assert "a person" in plan(ground).text
    ground.send_command(Verb.RELEASE, "n03")
    ground.wait(30)
    ground.end("n03")
    assert ground.stage("n03") is Stage.HEALTHY
    assert SETTINGS.ceiling == "resume"


def test_a_yes_to_one_plan_is_none_to_the_plan_that_comes_after_it() -> None:
    ground = Ground()
    first = ground.fault("n03", policy=APPROVING)
    ground.send_command(Verb.STOP)
    ground.fault("n03", "i-gone", policy=APPROVING)
    ground.send_command(Verb.APPROVE, "n03", digest=plan(ground).digest)
    other = msgspec.structs.replace(APPROVING, rule="other", ladder=())
    ground.fault("n03", "i-other", policy=other, severity=Severity.CRITICAL)
    for case in (first, msgspec.structs.replace(first, incident="i-gone")):
        ground.clear("n03", case)
    ground.send_command(Verb.START)
    assert ground.kinds("n03") == []
    assert ground.stage("n03") is Stage.AWAITING_APPROVAL


def test_what_could_not_be_done_is_reported_and_is_in_the_plan_until_it_is_done() -> None:
    ground = Ground()
    case = ground.fault("n03")
    ground.end("n03")
    ground.end("n03")
    ground.clear("n03", case)
    ground.wait(200)
    assert ground.kinds("n03")[-1] is Kind.RELEASE
    ground.notes.clear()
    ground.end("n03", PursuitResult.FAILED)
    text = "release of n03 could not be done: as the test says"
    alerts = [one for one in ground.notes if one.loudness is Loudness.ALERT]
    assert [(one.text, one.incident) for one in alerts] == [(text, "i-n03")]
    assert planned(ground.state, "n03", ground.now, ground.settings).text == text
    ground.wait(1000)
    ground.end("n03")
    assert planned(ground.state, "n03", ground.now, ground.settings).text != text


def test_after_the_last_try_a_note_says_that_there_is_no_other() -> None:
    ground = Ground()
    case = ground.fault("n03")
    ground.end("n03")
    ground.end("n03")
    ground.clear("n03", case)
    ground.wait(200)
    for number in range(MOST_FAILURES + 1):
        ground.end("n03", PursuitResult.REFUSED, RefusalKind.IMPOSSIBLE)
        last = [one.text for one in ground.notes if one.loudness is Loudness.ALERT][-1]
        assert ("not retried" in last) == (number == MOST_FAILURES)
        ground.wait(20_000, every=50)
    assert ground.stage("n03") is Stage.FAILED
