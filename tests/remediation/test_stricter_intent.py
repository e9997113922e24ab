"""A node that waits for its jobs is judged anew when a worse fault comes: the strictest wish wins."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.alerting.rules.document import (
    Confidence,
    JobPolicy,
    Mode,
    QuarantineLevel,
    Severity,
    When,
)
from accelwatch.remediation.policy.plan.plan import planned
from accelwatch.remediation.policy.state.case import Case, Limit, Policy
from accelwatch.remediation.policy.state.changes import CaseChanged, Verb
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.stage import Stage
from support.remediation.small_fleet import JOB, POLICY, SETTINGS, Ground

NODE = "n03"
replace = msgspec.structs.replace
WAITS = replace(POLICY, rule="waits", when=When.AFTER_JOB)
NOW = replace(POLICY, rule="now", job=JobPolicy.REQUEUE)
WORSE = "worse"


def remedy(ground: Ground) -> Remedy:
    found = ground.remedy(NODE)
    assert found is not None
    return found


def waiting(policy: Policy = WAITS, device: str = "") -> tuple[Ground, Case]:
    """A node that is out, and waits until the job on it has ended."""
    ground = Ground()
    ground.nodes[NODE].jobs = (JOB,)
    ground.nodes[NODE].device_jobs = (JOB,)
    case = ground.fault(NODE, policy=policy, severity=Severity.WARNING, device=device)
    ground.end(NODE)
    ground.wait(60.0)
    assert (ground.stage(NODE), ground.kinds(NODE)) == (Stage.DRAINING, [Kind.QUARANTINE])
    return ground, case


def worse(ground: Ground, policy: Policy = NOW, **fields: object) -> Case:
    case = ground.fault(NODE, WORSE, policy=policy, severity=Severity.CRITICAL, **fields)
    ground.wait(10.0)
    return case


def test_a_worse_fault_moves_the_job_that_was_waited_for() -> None:
    ground, _ = waiting()
    worse(ground)
    assert ground.kinds(NODE) == [Kind.QUARANTINE, Kind.MOVE_JOB]
    assert remedy(ground).led_by == WORSE
    assert remedy(ground).incident == f"i-{NODE}", "our mark is known by the first"
    texts = [note.text for note in ground.notes if "rule now wants" in note.text]
    assert texts == [
        "rule now wants its jobs to leave (requeue) now; until then it was, by rule waits: out after "
        "job, its jobs left alone"
    ]
    plan = planned(ground.state, NODE, ground.now, ground.settings)
    assert plan.rule == "now"
    ground.end(NODE, moved_to=("n10",))
    ground.wait(60.0)
    assert ground.kinds(NODE)[-1] is Kind.REBOOT


@pytest.mark.parametrize(
    ("first", "second", "moves"),
    [
        ({"when": When.AFTER_JOB}, {"when": When.NOW}, True),
        ({"when": When.AFTER_JOB}, {"when": When.AT_CHECKPOINT}, True),
        ({"when": When.AFTER_JOB}, {"when": When.AFTER_JOB}, False),
        ({"when": When.NOW, "job": JobPolicy.NOTHING}, {"when": When.NOW}, True),
        ({"when": When.NOW, "job": JobPolicy.NOTIFY}, {"when": When.AT_CHECKPOINT}, True),
        ({"when": When.AFTER_JOB}, {"when": When.NOW, "job": JobPolicy.NOTHING}, False),
        ({"when": When.AFTER_JOB}, {"when": When.NOW, "job": JobPolicy.NOTIFY}, False),
    ],
)
def test_each_of_two_wishes_is_one_rule_s_own(
    first: dict[str, object], second: dict[str, object], moves: bool
) -> None:
    """Never the time of one with what another wants of jobs."""
    ground, _ = waiting(replace(WAITS, **{"job": JobPolicy.NOTHING, **first}))
    worse(ground, replace(NOW, **second))
    assert (Kind.MOVE_JOB in ground.kinds(NODE)) is moves


def test_the_node_is_stricter_than_its_device() -> None:
    device = replace(WAITS, level=QuarantineLevel.DEVICE)
    ground, _ = waiting(device, "GPU-1")
    worse(ground, replace(WAITS, rule="whole"))
    assert remedy(ground).policy == replace(WAITS, rule="whole")
    hold = remedy(ground).hold
    assert hold is not None
    assert hold.level is QuarantineLevel.DEVICE, "it is what the scheduler shows"
    assert ground.kinds(NODE) == [Kind.QUARANTINE, Kind.QUARANTINE]
    ground.end(NODE)
    hold = remedy(ground).hold
    assert hold is not None
    assert hold.level is QuarantineLevel.NODE


@pytest.mark.parametrize(
    ("policy", "fields"),
    [
        ({"mode": Mode.OBSERVE}, {}),
        ({"mode": Mode.APPROVE}, {}),
        ({"confidence": Confidence.LOW}, {}),
        ({"level": None}, {}),
        ({}, {"blind": True}),
        ({}, {"muted": "s1"}),
        ({}, {"orphaned": True}),
        ({}, {"group": "g1"}),
        ({}, {"trusted": False}),
        ({}, {"standing": False, "evidence_at": 1.0}),
    ],
)
def test_a_rule_that_may_not_act_changes_nothing(
    policy: dict[str, object], fields: dict[str, object]
) -> None:
    ground, _ = waiting()
    worse(ground, replace(NOW, **policy), **fields)
    ground.wait(600.0)
    assert ground.kinds(NODE) == [Kind.QUARANTINE]
    assert remedy(ground).policy == WAITS


def test_a_yes_to_one_rule_is_none_to_another() -> None:
    ground = Ground()
    ground.nodes[NODE].jobs = (JOB,)
    ground.fault(NODE, policy=replace(WAITS, mode=Mode.APPROVE))
    ground.send_command(Verb.APPROVE, NODE, digest=remedy(ground).approval.asked)
    ground.end(NODE)
    worse(ground, replace(NOW, mode=Mode.APPROVE))
    assert ground.kinds(NODE) == [Kind.QUARANTINE]


def test_the_site_s_ceiling_holds_for_the_worse_fault_as_well() -> None:
    ground, _ = waiting()
    ground.settings = replace(ground.settings, ceiling="drain")
    worse(ground)
    assert ground.kinds(NODE) == [Kind.QUARANTINE]


def test_when_the_worse_fault_is_over_before_anything_was_done_the_first_counts() -> None:
    ground, _ = waiting()
    ground.settings = replace(SETTINGS, ceiling="drain")
    case = worse(ground)
    assert (remedy(ground).policy, remedy(ground).led_by) == (NOW, WORSE)
    ground.step(CaseChanged(node=NODE, case=replace(case, open=False)))
    assert (remedy(ground).policy, remedy(ground).led_by) == (WAITS, "")
    ground.settings = SETTINGS
    ground.wait(600.0)
    assert ground.kinds(NODE) == [Kind.QUARANTINE]


@pytest.mark.parametrize("passing", ["stop", "blind"])
def test_what_passes_by_itself_does_not_end_the_worse_fault(passing: str) -> None:
    ground, _ = waiting()
    ground.settings = replace(SETTINGS, ceiling="drain")
    case = worse(ground)
    if passing == "stop":
        ground.send_command(Verb.STOP)
    else:
        ground.step(CaseChanged(node=NODE, case=replace(case, blind=True)))
    ground.wait(10.0)
    assert (remedy(ground).policy, remedy(ground).led_by) == (NOW, WORSE)
    assert not [note.text for note in ground.notes if "counts again" in note.text]


def test_a_worse_rule_that_may_not_act_any_more_is_not_reported_as_over() -> None:
    ground, _ = waiting()
    ground.settings = replace(SETTINGS, ceiling="drain")
    case = worse(ground)
    policy = replace(NOW, mode=Mode.OBSERVE)
    ground.step(CaseChanged(node=NODE, case=replace(case, policy=policy)))
    assert (remedy(ground).policy, remedy(ground).led_by) == (WAITS, "")
    texts = [note.text for note in ground.notes if "counts again" in note.text]
    assert texts == [
        "rule now may not act any more; rule waits counts again: out after job, its jobs left alone"
    ]


def test_what_it_takes_to_be_given_back_stays_the_most_that_was_wanted() -> None:
    ground, first = waiting(replace(WAITS, tests=("a",), probation_s=60.0))
    case = worse(ground, replace(NOW, passive_s=600.0, tests=("b",)))
    ground.end(NODE, moved_to=("n10",))
    ground.step(CaseChanged(node=NODE, case=replace(case, open=False)))
    ground.step(CaseChanged(node=NODE, case=replace(first, open=False)))
    policy = remedy(ground).policy
    assert policy is not None
    assert (policy.passive_s, set(policy.tests), policy.probation_s) == (600.0, {"a", "b"}, 60.0)


def test_the_ladder_of_the_worse_fault_starts_at_its_first_rung() -> None:
    ground, _ = waiting(replace(WAITS, ladder=(Limit("reset"), Limit("service"))))
    worse(ground, replace(NOW, ladder=(Limit("power_cycle"), Limit("service"))))
    ground.end(NODE, moved_to=("n10",))
    ground.wait(60.0)
    assert ground.kinds(NODE)[-1] is Kind.POWER_CYCLE


def test_the_rule_of_the_same_incident_that_wants_more_by_now_counts_too() -> None:
    ground, case = waiting()
    ground.step(CaseChanged(node=NODE, case=replace(case, policy=NOW, evidence_at=ground.now)))
    ground.wait(10.0)
    assert ground.kinds(NODE) == [Kind.QUARANTINE, Kind.MOVE_JOB]


def test_a_worse_rule_of_the_same_incident_counts_only_while_it_fires() -> None:
    ground, case = waiting()
    ground.settings = replace(SETTINGS, ceiling="drain")
    ground.step(CaseChanged(node=NODE, case=replace(case, policy=NOW)))
    assert remedy(ground).policy == NOW
    ground.step(CaseChanged(node=NODE, case=case))
    assert remedy(ground).policy == WAITS
    ground.settings = SETTINGS
    ground.wait(60.0)
    assert ground.kinds(NODE) == [Kind.QUARANTINE]


def test_a_person_s_node_is_left_to_the_person() -> None:
    ground, _ = waiting()
    ground.send_command(Verb.QUARANTINE, NODE)
    worse(ground)
    ground.wait(600.0)
    assert Kind.MOVE_JOB not in ground.kinds(NODE)


def test_an_engine_that_is_killed_in_between_goes_on_with_the_worse_fault() -> None:
    ground, _ = waiting()
    worse(ground)
    moving = ground.kinds(NODE)
    ground.killed()
    assert remedy(ground).led_by == WORSE
    assert remedy(ground).first_policy == WAITS
    assert moving[-1] is Kind.MOVE_JOB
