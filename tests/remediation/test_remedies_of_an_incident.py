"""What the state machine is told of an incident."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accelwatch.alerting.incidents.model.incident import Incident, TimelineEntry, TimelineKind
from accelwatch.alerting.rules.document import (
    Advice,
    Confidence,
    Mode,
    QuarantineLevel,
    Scope,
    Severity,
    Trust,
)
from accelwatch.alerting.rules.rule import Action, EscalationStep, Origin, Rule
from accelwatch.alerting.rules.timing import Timing
from accelwatch.alerting.rules.verdict import Entity, Evidence
from accelwatch.expr.rule import compile_rule
from accelwatch.fleet.names import fleet_names
from accelwatch.remediation.policy.plan.of_incident import acting_rule, case_changed, policy_of
from accelwatch.remediation.policy.state.case import Case, Limit
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.provenance import Provenance
from support.incidents.incident_samples import START, incident, over, storm

EVENT = ErrorEvent(
    code="xid_79", category=Category.BUS, time=START + 50, text="Xid 79", source="kernel_log"
)


def rule(**action: Any) -> Rule:
    return Rule(
        id="nvidia.gpu.lost",
        title="GPU has fallen off the bus",
        scope=Scope.DEVICE,
        family="nvidia.gpu.lost",
        select=None,
        when=compile_rule("device_up == 0"),
        confirm=None,
        clear=None,
        timing=Timing(),
        cooldown_s=600.0,
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        mode=Mode.APPROVE,
        trust=Trust.AUTHENTICATED,
        advice=Advice.REBOOT,
        what_to_do="",
        show=(),
        action=Action(**action) if action else None,
        group=None,
        canary=None,
        local=False,
        runbook="",
        source="",
        origin=Origin(file=Path("rules.yaml"), line=1),
        digest="d",
    )


def case(one: Incident, known: tuple[Incident, ...] = (), muted: str = "") -> Case:
    changed = case_changed(one, rule(), {other.id: other for other in known}, muted)
    assert changed is not None
    assert changed.node == one.entity.node
    return changed.case


def at(time: float, kind: TimelineKind) -> TimelineEntry:
    return TimelineEntry(time, kind, "so it was")


def test_a_policy_is_what_the_rule_wants() -> None:
    policy = policy_of(
        rule(
            quarantine=QuarantineLevel.NODE,
            remedy=(EscalationStep(name="reboot", most=2), EscalationStep(name="service")),
            verify_passive_s=600.0,
            verify_active=("quick",),
        )
    )
    assert (policy.mode, policy.level) == (Mode.APPROVE, QuarantineLevel.NODE)
    assert policy.ladder == (Limit("reboot", 2), Limit("service"))
    assert (policy.passive_s, policy.tests) == (600.0, ("quick",))
    assert policy_of(rule()).level is None


def test_what_is_about_no_single_node_is_no_case() -> None:
    job = Entity(scope=Scope.JOB, job="17")
    assert case_changed(incident(entity=job), rule(), {}) is None
    assert case_changed(storm(3)[-1], rule(), {}) is None


def test_the_newest_evidence_is_what_fired_or_happened_last() -> None:
    fired = (at(START + 5, TimelineKind.OPENED), at(START + 9, TimelineKind.NOTE))
    assert case(incident(timeline=fired)).evidence_at == START + 5
    for kind in (TimelineKind.REOPENED, TimelineKind.RULE, TimelineKind.ROSE, TimelineKind.AGAIN):
        again = (*fired, at(START + 30, kind))
        assert case(incident(timeline=again)).evidence_at == START + 30
    happened = (Evidence(signal="xid_79", text="Xid 79", event=EVENT),)
    assert case(incident(timeline=again, evidence=happened)).evidence_at == START + 50


def test_what_only_happened_is_not_active() -> None:
    happened = Evidence(signal="xid_79", text="Xid 79", event=EVENT)
    seen = Evidence(signal="device_up", text="device_up is 0")
    assert not case(incident(evidence=(happened,))).standing
    assert case(incident(evidence=(happened, seen))).standing
    assert case(incident(evidence=())).standing


def test_what_counts_until_the_node_is_booted_is_active() -> None:
    happened = incident(evidence=(Evidence(signal="xid_151", text="Xid 151", event=EVENT),))
    for when, active in (
        ('event("xid", code == 151)', False),
        ('event("xid", code == 151, until="boot")', True),
    ):
        changed = case_changed(happened, replace(rule(), when=compile_rule(when)), {})
        assert changed is not None
        assert changed.case.standing is active


@pytest.mark.parametrize(
    ("trusted", "provenance", "result"),
    [
        (True, Provenance.AUTHENTICATED, True),
        (False, Provenance.AUTHENTICATED, False),
        (True, Provenance.PLAIN, False),
        (True, Provenance.UNKNOWN, False),
    ],
)
def test_only_authenticated_evidence_is_trusted(
    trusted: bool, provenance: Provenance, result: bool
) -> None:
    assert case(incident(trusted=trusted, provenance=provenance)).trusted is result


def test_a_blind_incident_is_blind_until_it_sees_again() -> None:
    blind = (at(START, TimelineKind.OPENED), at(START + 9, TimelineKind.BLIND))
    assert case(incident(timeline=blind)).blind
    for kind in (TimelineKind.SEEING, TimelineKind.AGAIN):
        assert not case(incident(timeline=(*blind, at(START + 20, kind)))).blind


def test_an_incident_whose_rule_is_gone_says_so() -> None:
    gone = case_changed(incident(), None, {})
    assert gone is not None
    assert gone.case.orphaned
    timeline = (at(START, TimelineKind.OPENED), at(START + 9, TimelineKind.ORPHANED))
    assert case(incident(timeline=timeline)).orphaned
    assert not case(incident(timeline=(*timeline, at(START + 20, TimelineKind.RULE)))).orphaned


def test_a_member_of_a_storm_has_its_group_while_that_goes_on() -> None:
    *members, group = storm(3)
    assert case(members[0], (group,)).group == group.id
    assert case(members[0], (over(group, START + 900),)).group == ""
    assert case(incident()).group == ""


def test_a_silence_and_an_end_go_along() -> None:
    assert case(incident(), muted="s1").muted == "s1"
    assert not case(over(incident(), START + 90)).open


WANTS = {"quarantine": QuarantineLevel.NODE}


def of_family(id_: str, mode: Mode, severity: Severity, **action: Any) -> Rule:
    return replace(rule(**action), id=id_, title=f"title of {id_}", mode=mode, severity=severity)


REPORTED = of_family("told", Mode.AUTO, Severity.CRITICAL)
OBSERVES = of_family("observes", Mode.OBSERVE, Severity.CRITICAL, **WANTS)
ACTS = of_family("acts", Mode.AUTO, Severity.INFO, **WANTS)
WORSE = of_family("worse", Mode.AUTO, Severity.WARNING, **WANTS)
RULES = {one.id: one for one in (REPORTED, OBSERVES, ACTS, WORSE)}


@pytest.mark.parametrize(
    ("firing", "decides"),
    [
        (("told", "acts"), "acts"),
        (("observes", "acts"), "acts"),
        (("acts", "worse"), "worse"),
        (("told", "observes"), "observes"),
        (("gone", "told"), "told"),
        (("gone",), None),
        ((), "told"),
    ],
)
def test_the_rule_that_may_go_furthest_of_those_that_fire_decides(
    firing: tuple[str, ...], decides: str | None
) -> None:
    decided = acting_rule(incident(rule="told", rules=firing), RULES)
    assert (None if decided is None else decided.id) == decides


def test_a_rule_that_has_cleared_wants_nothing_any_more() -> None:
    left = incident(rule="acts", rules=("observes",), title="title of acts")
    changed = case_changed(left, acting_rule(left, RULES), {})
    assert changed is not None
    assert (changed.case.policy.rule, changed.case.policy.mode) == ("observes", Mode.OBSERVE)
    assert changed.case.title == "title of observes"


def test_an_incident_is_reported_by_its_own_title_while_its_rule_decides() -> None:
    one = incident(rule="acts", rules=("acts",), title="as it was called then")
    changed = case_changed(one, ACTS, {})
    assert changed is not None
    assert changed.case.title == "as it was called then"


@pytest.mark.parametrize(
    ("when", "value", "silence"),
    [
        ("node_state in ('stale', 'down')", "down", True),
        ("node_state in ('stale', 'down')", "stale", True),
        ("node_state == 'never'", "never", True),
        ("node_state == 'up' and device_up == 0", "up", False),
        ("device_up == 0", "down", False),
    ],
)
def test_a_rule_that_asks_for_a_silent_node_rests_on_silence(
    when: str, value: str, silence: bool
) -> None:
    seen = Evidence(signal="node_state", text=f"node_state is {value}", value=value)
    changed = case_changed(
        incident(evidence=(seen,)), replace(rule(), when=compile_rule(when, fleet_names(()))), {}
    )
    assert changed is not None
    assert changed.case.silence is silence


def test_the_rule_that_acts_is_one_that_needs_no_approval() -> None:
    unsure = replace(rule(quarantine=QuarantineLevel.NODE), id="unsure", mode=Mode.AUTO)
    unsure = replace(unsure, confidence=Confidence.LOW)
    sure = replace(unsure, id="sure", confidence=Confidence.HIGH, severity=Severity.WARNING)
    let = replace(unsure, id="let", act_on=Confidence.LOW, severity=Severity.WARNING)
    for other in (sure, let):
        known = {one.id: one for one in (unsure, other)}
        assert acting_rule(incident(rules=tuple(known)), known) is other
    assert (policy_of(let).confidence, policy_of(let).act_on) == (Confidence.LOW, Confidence.LOW)


@pytest.mark.parametrize(
    ("when", "acts", "is_open"),
    [
        ("detector.device.alert", False, False),
        ("detector.device.alert", True, True),
        ("device_up == 0", False, True),
    ],
)
def test_what_a_detector_suspects_counts_only_where_a_rule_acts_by_it(
    when: str, *, acts: bool, is_open: bool
) -> None:
    made = rule(quarantine=QuarantineLevel.NODE) if acts else rule()
    changed = case_changed(incident(), replace(made, when=compile_rule(when)), {})
    assert changed is not None
    assert changed.case.open is is_open
