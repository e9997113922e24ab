"""Rungs and tests that are refused, that fail or that cannot be done here: people hear of each why."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.step import RefusalKind
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.plan.plan import planned
from accelwatch.remediation.policy.state.case import Limit
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.state.stage import Stage
from support.remediation.small_fleet import POLICY, Ground

NO_PROGRAM = "RebootProgram is not defined in slurm.conf"
TESTED = msgspec.structs.replace(POLICY, ladder=(), passive_s=10.0, tests=("quick",))


def notified(ground: Ground) -> list[str]:
    return [note.text for note in ground.notes if note.loudness is Loudness.NOTIFY]


def plan(ground: Ground, name: str) -> str:
    return planned(ground.state, name, ground.now, ground.settings).text


def test_a_reboot_that_is_refused_is_reported_with_the_reason_and_stays_in_the_plan() -> None:
    ground = Ground()
    ground.fault("n03")
    ground.end("n03")
    assert ground.flying["n03"].kind is Kind.REBOOT
    ground.end("n03", PursuitResult.REFUSED, RefusalKind.NOT_ALLOWED)
    assert "reboot of n03 was refused: as the test says" in notified(ground)
    assert "reboot of n03 was refused: as the test says" in plan(ground, "n03")
    ground.wait(600)
    assert ground.stage("n03") is Stage.SERVICE


def test_a_reboot_that_has_failed_is_reported_too() -> None:
    ground = Ground()
    ground.fault("n03")
    ground.end("n03")
    ground.end("n03", PursuitResult.FAILED)
    assert "reboot of n03 has failed: as the test says" in notified(ground)
    assert "reboot of n03 has failed: as the test says" in plan(ground, "n03")


def test_what_no_scheduler_can_do_is_not_started_and_is_reported_once() -> None:
    ground = Ground(impossible={Kind.REBOOT: NO_PROGRAM})
    ground.fault("n03")
    assert Kind.REBOOT not in {
        step.kind for step in planned(ground.state, "n03", ground.now, ground.settings).steps
    }
    assert f"reboot is left out: {NO_PROGRAM}" in plan(ground, "n03")
    ground.end("n03")
    ground.wait(600)
    assert ground.stage("n03") is Stage.SERVICE
    assert Kind.REBOOT not in ground.kinds("n03")
    assert notified(ground).count(f"reboot of n03 is left out: {NO_PROGRAM}") == 1
    assert plan(ground, "n03").count(NO_PROGRAM) == 1
    assert ground.state.scores.levels == {}, "what was not done counts against nobody"


def test_the_rung_behind_it_is_next() -> None:
    policy = msgspec.structs.replace(POLICY, ladder=(Limit("reset"), Limit("reboot")))
    ground = Ground(impossible={Kind.RESET_DEVICE: "no action can do it"})
    ground.fault("n03", policy=policy)
    ground.end("n03")
    assert ground.flying["n03"].kind is Kind.REBOOT


@pytest.mark.parametrize("impossible", [{}, {Kind.RESET_DEVICE: "no action can do it"}])
def test_what_a_scheduler_can_do_is_offered(impossible: dict[Kind, str]) -> None:
    ground = Ground(impossible=impossible)
    ground.fault("n03")
    assert plan(ground, "n03") == ""
    ground.end("n03")
    assert ground.flying["n03"].kind is Kind.REBOOT


def test_a_node_that_cannot_be_taken_out_says_why_in_its_plan() -> None:
    why = "the cluster does not allow the hub to patch nodes (RBAC)"
    ground = Ground(impossible={Kind.QUARANTINE: why})
    ground.fault("n03")
    assert plan(ground, "n03") == f"it cannot be taken out: {why}"


def verified() -> Ground:
    """A node whose test is under way."""
    ground = Ground()
    case = ground.fault("n03", policy=TESTED)
    ground.end("n03")
    ground.clear("n03", case)
    ground.wait(60)
    assert ground.flying["n03"].kind is Kind.TEST
    return ground


@pytest.mark.parametrize(
    ("refusal", "text"),
    [
        (RefusalKind.UNFIT, "failed test quick: as the test says"),
        (RefusalKind.IMPOSSIBLE, "test quick could not be run: as the test says"),
        (RefusalKind.NOT_ALLOWED, "test quick could not be run: as the test says"),
    ],
)
def test_a_test_that_has_failed_is_not_one_that_could_not_be_run(
    refusal: RefusalKind, text: str
) -> None:
    ground = verified()
    ground.end("n03", PursuitResult.REFUSED, refusal)
    assert text in notified(ground)
    assert text.removeprefix("failed ") in plan(ground, "n03")
