"""What the state machine is told of an incident."""

import dataclasses

import msgspec
import pytest

from accelwatch.incidents.incident import Incident, Moment, MomentKind
from accelwatch.incidents.muting import Mute
from accelwatch.remedy.case import Case, Limit, Policy
from accelwatch.remedy.incident_cases import case_of, policy_of
from accelwatch.rules.document import JobPolicy, Mode, QuarantineLevel, Scope, Trust, When
from accelwatch.rules.rule import Action, Canary, Rule, Rung
from accelwatch.rules.verdict import Entity, Evidence
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.provenance import Provenance
from incident_samples import START, incident, later, over
from incidents.incident_rules import rule

ID = "nvidia.gpu.lost"
ACTION = Action(
    quarantine=QuarantineLevel.NODE,
    quarantine_when=When.NOW,
    job=JobPolicy.REQUEUE,
    signal="USR1",
    grace_s=60.0,
    draw_spare=True,
    remedy=(Rung(name="reboot"), Rung(name="power_cycle", most=2)),
    verify_passive_s=600.0,
    verify_active=("gpu-quick",),
    probation_s=86_400.0,
)
RULE: Rule = dataclasses.replace(
    rule(ID), mode=Mode.AUTO, action=ACTION, canary=Canary(share=0.05, for_s=60.0), trust=Trust.ANY
)


def case(told: Incident, **how: object) -> Case:
    changed = case_of(told, {ID: RULE}, **how)  # type: ignore[arg-type]
    assert changed is not None
    assert changed.node == "n1"
    return changed.case


def event(at: float) -> Evidence:
    happened = ErrorEvent(
        code="xid_79", category=Category.BUS, time=at, text="fallen off", source="nvml"
    )
    return Evidence(signal="xid_79", text="xid 79", event=happened)


def moments(*kinds: tuple[float, MomentKind, str]) -> tuple[Moment, ...]:
    return tuple(Moment(START + at, kind, "text", actor) for at, kind, actor in kinds)


def test_a_rule_says_what_may_be_done() -> None:
    assert policy_of(RULE) == Policy(
        rule=ID,
        digest=RULE.digest,
        mode=Mode.AUTO,
        trust=Trust.ANY,
        canary=Canary(share=0.05, for_s=60.0),
        level=QuarantineLevel.NODE,
        when=When.NOW,
        job=JobPolicy.REQUEUE,
        signal="USR1",
        grace_s=60.0,
        draw_spare=True,
        ladder=(Limit("reboot"), Limit("power_cycle", 2)),
        passive_s=600.0,
        tests=("gpu-quick",),
        probation_s=86_400.0,
    )


def test_a_rule_without_an_action_takes_nothing_out() -> None:
    policy = policy_of(dataclasses.replace(RULE, action=None))
    assert (policy.level, policy.ladder, policy.job) == (None, (), JobPolicy.NOTHING)


def test_an_incident_is_a_case_of_its_node() -> None:
    told = case(incident())
    assert (told.incident, told.open, told.orphaned, told.policy) == (
        "i1",
        True,
        False,
        policy_of(RULE),
    )
    assert (told.since, told.device, told.title) == (
        START - 10,
        "nvidia:GPU-1",
        "GPU has fallen off the bus",
    )
    assert not case(over(incident(), START + 5)).open


@pytest.mark.parametrize(
    "entity",
    [
        Entity(scope=Scope.JOB, job="17"),
        Entity(scope=Scope.RACK, rack="r7"),
        Entity(scope=Scope.DEVICE, node="n1", group="rack=r7"),
    ],
)
def test_what_is_about_no_one_node_is_none(entity: Entity) -> None:
    assert case_of(incident(entity=entity), {ID: RULE}) is None


def test_a_rule_that_is_gone_lets_nothing_be_done() -> None:
    changed = case_of(incident(), {})
    assert changed is not None
    assert changed.case.orphaned
    assert changed.case.policy == Policy(rule=ID, digest="d")


@pytest.mark.parametrize(
    ("trusted", "provenance", "expected"),
    [
        (True, Provenance.AUTHENTICATED, True),
        (False, Provenance.AUTHENTICATED, False),
        *((True, one, False) for one in Provenance if one is not Provenance.AUTHENTICATED),
    ],
)
def test_only_what_nobody_can_have_forged_is_trusted(
    trusted: bool, provenance: Provenance, expected: bool
) -> None:
    assert case(incident(trusted=trusted, provenance=provenance)).trusted is expected


@pytest.mark.parametrize(
    ("timeline", "evidence", "at"),
    [
        ((), (), 0.0),
        (moments((1, MomentKind.OPENED, "")), (), 1.0),
        (moments((1, MomentKind.OPENED, ""), (5, MomentKind.RULE, "")), (), 5.0),
        (moments((1, MomentKind.OPENED, ""), (5, MomentKind.ROSE, "")), (), 5.0),
        (moments((1, MomentKind.OPENED, ""), (5, MomentKind.REOPENED, "")), (), 5.0),
        (moments((1, MomentKind.OPENED, ""), (5, MomentKind.NOTE, "")), (), 5.0),
        (moments((1, MomentKind.OPENED, ""), (5, MomentKind.NOTE, "anna")), (), 1.0),
        (moments((1, MomentKind.OPENED, ""), (5, MomentKind.BLIND, "")), (), 1.0),
        (moments((1, MomentKind.OPENED, "")), (event(START + 9),), 9.0),
        (moments((1, MomentKind.OPENED, "")), (event(START - 9),), 1.0),
    ],
)
def test_evidence_is_as_old_as_its_newest_part(
    timeline: tuple[Moment, ...], evidence: tuple[Evidence, ...], at: float
) -> None:
    told = case(incident(timeline=timeline, evidence=evidence))
    assert told.evidence_at == START + at


def test_what_only_happened_does_not_stand() -> None:
    reading = Evidence(signal="device_up", text="device_up is 0")
    assert case(incident(evidence=(reading,))).standing
    assert case(incident(evidence=(event(START), reading))).standing
    assert case(incident(evidence=())).standing
    assert not case(incident(evidence=(event(START),))).standing


@pytest.mark.parametrize(
    ("kinds", "blind"),
    [
        ([], False),
        ([MomentKind.OPENED], False),
        ([MomentKind.OPENED, MomentKind.BLIND], True),
        ([MomentKind.OPENED, MomentKind.BLIND, MomentKind.NOTE], True),
        ([MomentKind.OPENED, MomentKind.BLIND, MomentKind.SEEING], False),
        ([MomentKind.OPENED, MomentKind.BLIND, MomentKind.REOPENED], False),
    ],
)
def test_whether_anybody_can_tell_is_its_last_word(kinds: list[MomentKind], blind: bool) -> None:
    timeline = moments(*((at, kind, "") for at, kind in enumerate(kinds)))
    assert case(incident(timeline=timeline)).blind is blind


def test_silences_and_groups_are_told() -> None:
    mute = Mute(id="s7", kind="silence", reason="swap", by="me", until=START)
    assert case(incident(), mute=mute).muted == "s7"
    grouped = later(incident(), START, group="i99")
    assert case(grouped).group == "i99"
    assert case(grouped, goes_on=lambda id_: id_ != "i99").group == ""
    assert case(incident()).group == ""


def test_it_goes_into_the_journal_and_comes_back() -> None:
    told = case(incident())
    assert msgspec.json.decode(msgspec.json.encode(told), type=Case) == told
