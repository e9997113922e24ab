"""A rule of low confidence never acts without a person's approval, unless it says `act_on: low`."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.alerting.rules.document import Confidence, Mode, Severity
from accelwatch.fleet.remedies.describing import remedies_page
from accelwatch.remediation.policy.guards.denial import DenialKind
from accelwatch.remediation.policy.plan.plan import planned
from accelwatch.remediation.policy.state.case import Policy
from accelwatch.remediation.policy.state.changes import Verb
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.policy.state.world import JournalStatus
from support.remediation.small_fleet import JOB, POLICY, Ground, job_policy

NODE = "n03"
HIGH, LOW = Confidence.HIGH, Confidence.LOW


def unsure(policy: Policy = POLICY, **fields: object) -> Policy:
    return msgspec.structs.replace(policy, confidence=LOW, **fields)


def remedy(ground: Ground) -> Remedy:
    found = ground.remedy(NODE)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("confidence", "act_on", "stage"),
    [
        (HIGH, HIGH, Stage.QUARANTINING),
        (HIGH, LOW, Stage.QUARANTINING),
        (LOW, LOW, Stage.QUARANTINING),
        (LOW, HIGH, Stage.AWAITING_APPROVAL),
    ],
)
def test_who_acts_without_approval(
    confidence: Confidence, act_on: Confidence, stage: Stage
) -> None:
    ground = Ground()
    policy = msgspec.structs.replace(POLICY, confidence=confidence, act_on=act_on)
    ground.fault(NODE, policy=policy)
    assert ground.stage(NODE) is stage


def test_a_journal_that_may_lose_what_is_written_asks_a_person_until_it_keeps_it() -> None:
    ground = Ground()
    ground.step(seen=(JournalStatus(loss_risk="the database is replicated asynchronously"),))
    ground.fault(NODE)
    assert ground.stage(NODE) is Stage.AWAITING_APPROVAL
    (denial,) = planned(ground.state, NODE, ground.now, ground.settings).steps[0].in_the_way
    page = remedies_page(ground.state, ground.settings, {}, ())
    assert page.approval_needed == "the database is replicated asynchronously"
    assert denial.text.endswith("person's approval: the database is replicated asynchronously")
    ground.step(seen=(JournalStatus(),))
    ground.step()
    assert ground.stage(NODE) is Stage.QUARANTINING


def test_a_person_takes_a_node_out_whatever_the_journal_may_lose() -> None:
    ground = Ground()
    ground.step(seen=(JournalStatus(loss_risk="the database is replicated asynchronously"),))
    ground.send_command(Verb.QUARANTINE, NODE, reason="fan")
    assert ground.stage(NODE) is Stage.QUARANTINING


def test_approval_is_requested_once_and_covers_all_that_follows() -> None:
    ground = Ground()
    ground.nodes[NODE].jobs = (JOB,)
    ground.fault(NODE, policy=unsure(job_policy()))
    assert ground.kinds(NODE) == []
    plan = planned(ground.state, NODE, ground.now, ground.settings)
    assert (plan.mode, plan.confidence, plan.act_on) == ("auto", "low", "high")
    (denial,) = plan.steps[0].in_the_way
    assert denial.why is DenialKind.APPROVAL
    assert denial.text == (
        "the rule's confidence is low, so it asks for a person's approval; "
        "`act_on: low` lets it act without"
    )
    ground.wait(60.0)
    requests = [note.text for note in ground.notes if "may n03 be taken out" in note.text]
    assert len(requests) == 1
    ground.send_command(Verb.APPROVE, NODE, digest=remedy(ground).approval.asked)
    ground.end(NODE)
    assert ground.kinds(NODE) == [Kind.QUARANTINE, Kind.MOVE_JOB]
    ground.end(NODE, moved_to=("n10",))
    ground.wait(60.0)
    assert ground.kinds(NODE)[-1] is Kind.REBOOT


def test_what_the_rule_says_by_now_is_another_plan() -> None:
    ground = Ground()
    case = ground.fault(NODE, policy=unsure())
    old = remedy(ground).approval.asked
    ground.fault(NODE, case.incident, policy=unsure(act_on=LOW))
    assert ground.kinds(NODE) == [Kind.QUARANTINE]
    assert planned(ground.state, NODE, ground.now, ground.settings).digest != old


def test_a_rule_that_observes_asks_nobody_however_sure_it_is() -> None:
    ground = Ground()
    ground.fault(NODE, policy=unsure(act_on=LOW, mode=Mode.OBSERVE))
    assert ground.stage(NODE) is Stage.SUSPECT


def test_a_rule_that_is_sure_acts_beside_a_worse_one_that_is_not() -> None:
    ground = Ground()
    ground.send_command(Verb.STOP)
    ground.fault(NODE, "unsure", policy=unsure(), severity=Severity.CRITICAL)
    ground.fault(NODE, "sure", severity=Severity.WARNING)
    ground.send_command(Verb.START)
    assert ground.kinds(NODE) == [Kind.QUARANTINE]
    assert remedy(ground).incident == "sure"


def test_a_person_takes_out_whatever_a_rule_is_sure_of() -> None:
    ground = Ground()
    ground.fault(NODE, policy=unsure())
    ground.send_command(Verb.QUARANTINE, NODE)
    ground.step()
    assert ground.kinds(NODE) == [Kind.QUARANTINE]


def test_an_old_record_of_a_policy_is_of_a_rule_that_was_sure() -> None:
    assert msgspec.json.decode(b'{"rule": "a"}', type=Policy).is_sure
