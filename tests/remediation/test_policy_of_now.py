"""Which policy counts: that of the rules as they are now, until something is begun by one of them."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.alerting.rules.document import Mode
from accelwatch.remediation.policy.state.case import Case, Policy
from accelwatch.remediation.policy.state.changes import CaseChanged, Verb
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.state.stage import Stage
from support.remediation.small_fleet import POLICY, Ground

NODE = "n03"
OBSERVED = msgspec.structs.replace(POLICY, mode=Mode.OBSERVE)
REPORTED = Policy(rule="nvidia.xid.contained")


def becomes(ground: Ground, case: Case, policy: Policy) -> None:
    """The rules of an incident want something else now."""
    ground.step(CaseChanged(node=NODE, case=msgspec.structs.replace(case, policy=policy)))
    ground.wait(60, every=10)


@pytest.mark.parametrize("before", [OBSERVED, REPORTED])
def test_an_incident_that_a_rule_with_an_action_joins_is_acted_on(before: Policy) -> None:
    ground = Ground()
    case = ground.fault(NODE, policy=before)
    ground.wait(60)
    assert ground.stage(NODE) is Stage.SUSPECT
    becomes(ground, case, POLICY)
    assert ground.kinds(NODE) == [Kind.QUARANTINE]


@pytest.mark.parametrize("after", [OBSERVED, REPORTED])
def test_what_waits_is_not_started_when_its_rule_is_lowered(after: Policy) -> None:
    ground = Ground()
    ground.send_command(Verb.STOP)
    case = ground.fault(NODE)
    ground.wait(60)
    becomes(ground, case, after)
    ground.send_command(Verb.START)
    ground.wait(600)
    assert (ground.stage(NODE), ground.kinds(NODE)) == (Stage.SUSPECT, [])


def test_a_plan_that_is_another_by_now_needs_approval_again() -> None:
    approving = msgspec.structs.replace(POLICY, mode=Mode.APPROVE)
    ground = Ground()
    case = ground.fault(NODE, policy=approving)
    old = ground.remedy(NODE)
    assert old is not None
    becomes(ground, case, msgspec.structs.replace(approving, ladder=()))
    ground.send_command(Verb.APPROVE, NODE, digest=old.approval.asked)
    assert (ground.stage(NODE), ground.kinds(NODE)) == (Stage.AWAITING_APPROVAL, [])
    new = ground.remedy(NODE)
    assert new is not None
    ground.send_command(Verb.APPROVE, NODE, digest=new.approval.asked)
    assert ground.kinds(NODE) == [Kind.QUARANTINE]


@pytest.mark.parametrize("after", [OBSERVED, REPORTED])
def test_what_was_started_is_ended_as_it_was_started(after: Policy) -> None:
    ground = Ground()
    case = ground.fault(NODE)
    becomes(ground, case, after)
    ground.end(NODE)
    ground.wait(20, every=10)
    ground.end(NODE)
    ground.clear(NODE, case)
    ground.wait(600)
    assert ground.kinds(NODE) == [Kind.QUARANTINE, Kind.REBOOT, Kind.RELEASE]


def test_what_failed_before_the_node_was_out_is_not_tried_again_by_a_lowered_rule() -> None:
    ground = Ground()
    case = ground.fault(NODE)
    ground.end(NODE, ending=PursuitResult.FAILED)
    assert ground.stage(NODE) is Stage.FAILED
    becomes(ground, case, OBSERVED)
    ground.wait(3600)
    assert (ground.stage(NODE), ground.kinds(NODE)) == (Stage.SUSPECT, [Kind.QUARANTINE])


def test_another_incident_of_a_node_that_is_out_has_the_policy_of_its_rule() -> None:
    ground = Ground()
    ground.fault(NODE)
    second = ground.fault(NODE, "i-second", policy=REPORTED)
    ground.end(NODE)
    becomes(ground, second, POLICY)
    remedy = ground.remedy(NODE)
    assert remedy is not None
    assert {case.incident: case.policy.rule for case in remedy.cases} == {
        f"i-{NODE}": POLICY.rule,
        "i-second": POLICY.rule,
    }


@pytest.mark.parametrize(("later_s", "started"), [(0.0, []), (1.0, [Kind.QUARANTINE])])
def test_only_what_is_seen_after_a_person_has_mended_a_node_counts(
    later_s: float, started: list[Kind]
) -> None:
    ground = Ground()
    ground.send_command(Verb.RECOVERED, NODE)
    mended = ground.now
    ground.wait(10)
    ground.fault(NODE, evidence_at=mended + later_s)
    ground.wait(60)
    assert ground.kinds(NODE) == started
