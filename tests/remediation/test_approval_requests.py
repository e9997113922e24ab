"""A person who is asked and does not answer: who is asked again, and when."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.alerting.rules.document import Mode, Severity
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.guards.denial import DenialKind
from accelwatch.remediation.policy.plan.plan import planned
from accelwatch.remediation.policy.state.changes import CaseChanged, Verb
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.state.stage import Stage
from support.remediation.small_fleet import POLICY, SETTINGS, Ground

APPROVING = msgspec.structs.replace(POLICY, mode=Mode.APPROVE)
NODE = "n03"


def requests(ground: Ground) -> int:
    """How often a person was asked so far."""
    return sum("may n03 be taken out?" in note.text for note in ground.notes)


@pytest.mark.parametrize(
    ("severity", "loudness"),
    [(Severity.CRITICAL, Loudness.ALERT), (Severity.WARNING, Loudness.NOTIFY)],
)
def test_what_nobody_approves_in_time_is_only_observed_and_rings_if_it_is_critical(
    severity: Severity, loudness: Loudness
) -> None:
    ground = Ground()
    ground.fault(NODE, policy=APPROVING, severity=severity)
    assert (ground.stage(NODE), requests(ground)) == (Stage.AWAITING_APPROVAL, 1)
    ground.wait(SETTINGS.approval_s + 60)
    assert ground.stage(NODE) is Stage.SUSPECT
    alerts = [note for note in ground.notes if "not approved in time" in note.text]
    assert [note.loudness for note in alerts] == [loudness]
    ground.wait(3 * SETTINGS.approval_s, every=300)
    assert (ground.stage(NODE), requests(ground), ground.kinds(NODE)) == (Stage.SUSPECT, 1, [])


@pytest.mark.parametrize(("later_s", "times"), [(0.0, 1), (1.0, 2)])
def test_only_newer_evidence_requests_approval_again(later_s: float, times: int) -> None:
    ground = Ground()
    case = ground.fault(NODE, policy=APPROVING)
    ground.wait(SETTINGS.approval_s + 60)
    newer = msgspec.structs.replace(case, evidence_at=case.evidence_at + later_s, title="again")
    ground.step(CaseChanged(node=NODE, case=newer))
    assert requests(ground) == times
    assert (ground.stage(NODE) is Stage.AWAITING_APPROVAL) is (times == 2)


def test_a_late_yes_to_the_same_plan_counts() -> None:
    ground = Ground()
    ground.fault(NODE, policy=APPROVING)
    remedy = ground.remedy(NODE)
    assert remedy is not None
    ground.wait(SETTINGS.approval_s + 60)
    ground.send_command(Verb.APPROVE, NODE, digest=remedy.approval.asked)
    assert ground.kinds(NODE) == [IntentKind.QUARANTINE]


def test_what_was_approved_and_has_to_wait_needs_no_second_approval() -> None:
    ground = Ground()
    ground.fault(NODE, "i-first")
    ground.send_command(Verb.FORGET, NODE)
    ground.now += 1
    ground.fault(NODE, "i-second", policy=APPROVING)
    remedy = ground.remedy(NODE)
    assert remedy is not None
    ground.send_command(Verb.APPROVE, NODE, digest=remedy.approval.asked)
    ground.wait(60)
    assert (ground.stage(NODE), requests(ground)) == (Stage.SUSPECT, 1)
    ground.end(NODE, PursuitResult.CANCELLED)
    ground.wait(300)
    assert ground.kinds(NODE) == [IntentKind.QUARANTINE, IntentKind.QUARANTINE]


FIRST = msgspec.structs.replace(APPROVING, rule="rule.first")
SECOND = msgspec.structs.replace(APPROVING, rule="rule.second")
HOUR = 3600.0


def denied(ground: Ground, hours: float) -> str:
    """A person says no, for so long; the line that is written about it."""
    before = len(ground.notes)
    ground.send_command(Verb.DENY, NODE, until=ground.now + hours * HOUR)
    return next(note.text for note in ground.notes[before:] if "denied" in note.text)


def test_a_no_to_one_rule_does_not_hide_another_that_asks() -> None:
    ground = Ground()
    ground.fault(NODE, "i-first", policy=FIRST)
    assert denied(ground, 8) == "ana denied rule.first"
    assert ground.stage(NODE) is Stage.SUPPRESSED
    ground.fault(NODE, "i-second", policy=SECOND)
    ground.wait(60)
    assert ground.stage(NODE) is Stage.AWAITING_APPROVAL
    assert ground.notes[-1].incident == "i-second"


def test_a_denial_goes_to_all_rules_that_fire() -> None:
    ground = Ground()
    ground.send_command(Verb.STOP)
    for incident, policy in (("i-first", FIRST), ("i-second", SECOND)):
        ground.fault(NODE, incident, policy=msgspec.structs.replace(policy, mode=Mode.AUTO))
    assert denied(ground, 8) == "ana denied rule.first, rule.second"
    ground.send_command(Verb.START)
    ground.wait(7 * HOUR, every=600)
    assert ground.kinds(NODE) == []
    ground.wait(2 * HOUR, every=600)
    assert ground.kinds(NODE) == [IntentKind.QUARANTINE]


def test_a_later_and_shorter_no_does_not_cut_an_earlier_one_short() -> None:
    ground = Ground()
    ground.fault(NODE, "i-first", policy=FIRST)
    denied(ground, 8)
    ground.fault(NODE, "i-second", policy=SECOND)
    ground.wait(60)
    denied(ground, 1)
    ground.wait(2 * HOUR, every=600)
    assert ground.stage(NODE) is Stage.SUPPRESSED
    no = ground.state.denied[NODE]
    assert no.rules == ("rule.first", "rule.second")


def test_a_no_that_is_over_says_nothing_of_a_later_one() -> None:
    ground = Ground()
    first = ground.fault(NODE, "i-first", policy=FIRST)
    denied(ground, 1)
    ground.step(CaseChanged(node=NODE, case=msgspec.structs.replace(first, open=False)))
    ground.wait(2 * HOUR, every=600)
    ground.fault(NODE, "i-second", policy=SECOND)
    ground.wait(60)
    assert denied(ground, 4) == "ana denied rule.second"


def test_a_plan_of_a_later_time_knows_that_a_denial_is_over() -> None:
    ground = Ground()
    ground.fault(NODE, policy=FIRST)
    denied(ground, 1)
    whys = []
    for later_s in (0.0, HOUR):
        step = planned(ground.state, NODE, ground.now + later_s, ground.settings).steps[0]
        whys.append([denial.why for denial in step.in_the_way])
    assert DenialKind.DENIED in whys[0]
    assert DenialKind.DENIED not in whys[1]


def test_a_person_takes_out_what_is_silenced() -> None:
    ground = Ground()
    ground.fault(NODE, muted="s1")
    assert ground.stage(NODE) is Stage.SUPPRESSED
    ground.send_command(Verb.QUARANTINE, NODE)
    assert ground.kinds(NODE) == [IntentKind.QUARANTINE]


def test_where_only_a_person_wants_it_out_nobody_is_notified_that_data_is_missing() -> None:
    ground = Ground()
    ground.send_command(Verb.STOP)
    ground.send_command(Verb.QUARANTINE, NODE)
    ground.wait(2 * HOUR)
    assert ground.stage(NODE) is Stage.SUSPECT
    assert [note.text for note in ground.notes if "data is missing" in note.text] == []


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("swap the riser", "by ana: swap the riser"),
        ("", "by ana"),
        ("Lüfter kaputt", "by ana: L?fter kaputt"),
    ],
)
def test_a_quarantine_by_hand_says_who_and_why(reason: str, shown: str) -> None:
    ground = Ground()
    ground.send_command(Verb.QUARANTINE, "n03", reason=reason)
    assert ground.flying["n03"].reason == shown


def test_who_takes_a_suspect_out_by_hand_is_named_instead_of_its_fault() -> None:
    ground = Ground()
    approve = msgspec.structs.replace(POLICY, mode=Mode.APPROVE)
    ground.fault("n03", policy=approve, title="GPU 3 has fallen off the bus")
    ground.send_command(Verb.QUARANTINE, "n03", reason="I go there now")
    assert ground.flying["n03"].reason == "by ana: I go there now"


def test_a_reason_is_as_long_as_a_scheduler_keeps_it() -> None:
    ground = Ground()
    ground.send_command(Verb.QUARANTINE, "n03", reason="long " * 100)
    assert len(ground.flying["n03"].reason) == 200
