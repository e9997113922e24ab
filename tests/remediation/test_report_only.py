"""Incidents of rules without an action: people are told of them, and nothing else depends on them."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.alerting.rules.document import Mode, Severity
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.guards.limits.breaker import BreakerStatus
from accelwatch.remediation.policy.plan.spares.candidates import candidate
from accelwatch.remediation.policy.state.case import Case, Policy
from accelwatch.remediation.policy.state.changes import CaseChanged, Verb
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.settings import Budget, RemedySettings
from support.remediation.small_fleet import JOB, POLICY, Ground, job_policy

NODE, OTHER = "n03", "n10"
REPORTED = Policy(rule="host.clock.unsynchronized")


def reported(ground: Ground, node: str, severity: Severity = Severity.INFO) -> Case:
    """A rule without an action fires on a node, whose devices are well."""
    case = Case(
        incident=f"told-{node}",
        policy=REPORTED,
        since=ground.now,
        evidence_at=ground.now,
        severity=severity,
    )
    ground.step(CaseChanged(node=node, case=case))
    return case


def over(ground: Ground, node: str, case: Case) -> None:
    ground.step(CaseChanged(node=node, case=msgspec.structs.replace(case, open=False)))


def mended(ground: Ground, **policy: object) -> None:
    """The node was taken out and rebooted, and what was wrong with it is over."""
    case = ground.fault(NODE, policy=msgspec.structs.replace(POLICY, **policy))
    ground.end(NODE)
    ground.wait(20, every=10)
    ground.end(NODE)
    ground.clear(NODE, case)
    assert ground.kinds(NODE) == [Kind.QUARANTINE, Kind.REBOOT]


@pytest.mark.parametrize(
    ("severity", "policy", "barred"),
    [
        (Severity.INFO, REPORTED, False),
        (Severity.WARNING, REPORTED, False),
        (Severity.CRITICAL, REPORTED, True),
        (Severity.INFO, POLICY, True),
    ],
)
def test_a_job_may_not_start_where_a_rule_would_act_or_it_is_critical(
    severity: Severity, policy: Policy, barred: bool
) -> None:
    ground = Ground(settings=RemedySettings(ceiling="resume", budget=Budget(most=1)))
    ground.nodes[NODE].jobs = (JOB,)
    ground.wait(60)
    ground.fault(NODE, policy=job_policy())
    case = reported(ground, OTHER, severity)
    ground.step(CaseChanged(node=OTHER, case=msgspec.structs.replace(case, policy=policy)))
    ground.end(NODE)
    ground.wait(20, every=10)
    (move,) = [intent for intent in ground.started if intent.kind is Kind.MOVE_JOB]
    assert move.avoided == ((NODE, OTHER) if barred else (NODE,))


def test_what_nobody_wants_is_not_reported_as_held_back() -> None:
    ground = Ground()
    reported(ground, OTHER)
    ground.fault(NODE, policy=msgspec.structs.replace(POLICY, mode=Mode.OBSERVE))
    ground.wait(60)
    assert [note.node for note in ground.notes if "held back" in note.text] == [NODE]


@pytest.mark.parametrize("severity", [Severity.INFO, Severity.CRITICAL])
def test_a_spare_that_is_only_reported_may_stand_in(severity: Severity) -> None:
    ground = Ground()
    reported(ground, OTHER, severity)
    assert ground.stage(OTHER) is Stage.SUSPECT
    ctx = StepContext(ground.state, ground.settings, ground.now)
    assert candidate(ctx, OTHER).usable is (severity is Severity.INFO)


def test_a_spare_about_which_something_was_started_may_not() -> None:
    ground = Ground()
    mended(ground, probation_s=3600.0)
    ground.wait(200)
    ground.end(NODE)
    assert ground.stage(NODE) is Stage.PROBATION
    ctx = StepContext(ground.state, ground.settings, ground.now)
    assert not candidate(ctx, NODE).usable


def test_a_repaired_node_is_released_though_something_of_it_is_only_reported() -> None:
    ground = Ground()
    reported(ground, NODE)
    mended(ground)
    ground.wait(1200)
    assert ground.kinds(NODE) == [Kind.QUARANTINE, Kind.REBOOT, Kind.RELEASE]
    ground.end(NODE)
    assert ground.stage(NODE) is Stage.SUSPECT, "what is open is not forgotten"


def test_what_is_critical_keeps_a_repaired_node_out_but_starts_nothing() -> None:
    ground = Ground()
    critical = reported(ground, NODE, Severity.CRITICAL)
    mended(ground)
    ground.wait(2400)
    assert ground.kinds(NODE) == [Kind.QUARANTINE, Kind.REBOOT]
    over(ground, NODE, critical)
    ground.wait(1200)
    assert ground.kinds(NODE) == [Kind.QUARANTINE, Kind.REBOOT, Kind.RELEASE]


def test_what_is_only_reported_is_no_relapse() -> None:
    ground = Ground()
    mended(ground, probation_s=600.0)
    ground.wait(200)
    ground.end(NODE)
    case = reported(ground, NODE)
    ground.wait(300)
    assert ground.stage(NODE) is Stage.PROBATION
    ground.wait(400)
    assert ground.stage(NODE) is Stage.SUSPECT
    over(ground, NODE, case)
    assert ground.stage(NODE) is Stage.HEALTHY


@pytest.mark.parametrize("first", [False, True])
def test_jobs_that_had_left_long_before_the_fault_are_let_be(first: bool) -> None:
    ground = Ground()
    if first:
        reported(ground, NODE)
    ground.nodes[NODE].jobs = (JOB,)
    ground.wait(120)
    ground.nodes[NODE].jobs = ()
    ground.wait(3000)
    ground.fault(NODE, policy=job_policy())
    ground.end(NODE)
    ground.wait(20, every=10)
    assert ground.kinds(NODE) == [Kind.QUARANTINE, Kind.REBOOT]


@pytest.mark.parametrize("first", [False, True])
def test_the_breaker_counts_what_starts_after_it_was_reset(first: bool) -> None:
    budget = Budget(share=0.025, most=1, min_available=0.5)
    ground = Ground(settings=RemedySettings(ceiling="resume", budget=budget))
    for node in ("n02", "n03") if first else ():
        reported(ground, node)
    ground.wait(60)
    ground.send_command(Verb.RESET_BREAKER)
    ground.wait(60)
    for node in ("n01", "n02", "n03"):
        ground.fault(node)
        ground.wait(60, every=10)
        if node in ground.flying:
            ground.end(node)
    assert ground.state.breaker.standing is BreakerStatus.OPEN


def test_a_person_may_silence_what_acts_though_something_else_is_reported() -> None:
    ground = Ground()
    reported(ground, NODE)
    ground.fault(NODE, muted="s1")
    ground.wait(60)
    assert (ground.stage(NODE), ground.kinds(NODE)) == (Stage.SUPPRESSED, [])


def test_a_person_gives_back_a_node_of_which_something_is_only_reported() -> None:
    ground = Ground()
    reported(ground, NODE)
    case = ground.fault(NODE, policy=msgspec.structs.replace(POLICY, ladder=(), passive_s=7200.0))
    ground.end(NODE)
    ground.clear(NODE, case)
    ground.wait(120)
    assert (ground.stage(NODE), ground.kinds(NODE)) == (Stage.VERIFYING, [Kind.QUARANTINE])
    ground.send_command(Verb.RELEASE, NODE)
    ground.wait(120)
    assert ground.kinds(NODE) == [Kind.QUARANTINE, Kind.RELEASE]
