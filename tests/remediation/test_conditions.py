"""Conditions of the table, where scenarios reach one operand or one stage of them only."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind, OwnerAnnotation
from accelwatch.remediation.policy.conditions import progress
from accelwatch.remediation.policy.conditions.transition import RemedyEvent, Transition
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.state.model import NodeQuarantine, RemedyState
from accelwatch.remediation.policy.state.stage import Stage, Trigger
from support.remediation.small_fleet import SETTINGS, Ground

MARK = OwnerAnnotation(incident="i1", token=1)
OUT = NodeQuarantine(node="n1", mark=MARK)


def goes_on(came_from: Stage | None, hold: NodeQuarantine | None) -> list[Stage]:
    """Where what has failed goes on, by each condition that says so."""
    ctx = StepContext(RemedyState(), SETTINGS, 0.0)
    failed = msgspec.structs.replace(
        ctx.remedy("n1"), stage=Stage.FAILED, came_from=came_from, hold=hold
    )
    transition = Transition(ctx, failed, RemedyEvent(Trigger.TICK))
    conditions = {
        Stage.SUSPECT: progress.goes_on_suspect,
        Stage.QUARANTINED: progress.goes_on_quarantined,
        Stage.RELEASING: progress.goes_on_releasing,
    }
    return [stage for stage, condition in conditions.items() if condition(transition)]


@pytest.mark.parametrize("came_from", [None, *Stage])
def test_what_has_failed_goes_on_in_one_stage_wherever_it_failed(came_from: Stage | None) -> None:
    starts = came_from is Stage.QUARANTINING
    releases = came_from is Stage.RELEASING
    elsewhere = Stage.RELEASING if releases else Stage.QUARANTINED
    assert goes_on(came_from, OUT) == [elsewhere]
    assert goes_on(came_from, None) == [Stage.SUSPECT if starts else elsewhere]


def test_a_rules_quarantine_is_taken_back_when_the_ceiling_is_lowered() -> None:
    ground = Ground()
    ground.fault("n03")
    assert ground.kinds("n03") == [IntentKind.QUARANTINE]
    ground.settings = msgspec.structs.replace(SETTINGS, ceiling="observe")
    ground.wait(2, every=1)
    assert [intent.kind for intent in ground.cancelled] == [IntentKind.QUARANTINE]
