"""What the end of an intent means to the stages."""

import pytest

from accelwatch.action.intent import Intent, IntentKind, OwnerAnnotation
from accelwatch.action.step import RefusalKind
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult
from accelwatch.remediation.policy.state.stage import Trigger
from accelwatch.remediation.policy.step.pursuit_results import trigger_of


@pytest.mark.parametrize(
    ("kind", "refusal", "trigger"),
    [
        (IntentKind.MOVE_JOB, RefusalKind.OVERRIDDEN, Trigger.REFUSED),
        (IntentKind.SIGNAL_JOB, RefusalKind.OVERRIDDEN, Trigger.REFUSED),
        (IntentKind.QUARANTINE, RefusalKind.OVERRIDDEN, Trigger.UNDONE),
        (IntentKind.MOVE_JOB, RefusalKind.FOREIGN, Trigger.FOREIGN),
    ],
)
def test_who_holds_a_job_has_not_taken_its_node_back(
    kind: IntentKind, refusal: RefusalKind, trigger: Trigger
) -> None:
    intent = Intent(
        kind=kind,
        mark=OwnerAnnotation("i1", 1),
        node="n1",
        rule="r",
        reason="x",
        asked=0.0,
        deadline=1.0,
    )
    end = Pursued(intent=intent, result=PursuitResult.REFUSED, time=0.0, text="x", refusal=refusal)
    assert trigger_of(end) is trigger
