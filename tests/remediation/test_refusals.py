"""What the scheduler refuses counts for the breaker; and what people read while that is open."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.action.step import RefusalKind
from accelwatch.alerting.rules.document import Mode
from accelwatch.remediation.policy.guards.denial import DenialKind
from accelwatch.remediation.policy.guards.limits.breaker import BreakerStatus
from accelwatch.remediation.policy.plan.plan import planned
from accelwatch.remediation.policy.state.changes import Verb
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.settings import Budget
from support.remediation.small_fleet import JOB, POLICY, SETTINGS, Ground, job_policy

FAST = msgspec.structs.replace(
    SETTINGS, budget=Budget(share=0.25, min_available=0.7, per_hour=100, spacing_s=0.0)
)
APPROVING = msgspec.structs.replace(POLICY, mode=Mode.APPROVE)
NODE = "n03"


def counted(ground: Ground) -> int:
    return len(ground.state.breaker.failures)


def quarantining() -> Ground:
    ground = Ground(settings=FAST)
    ground.fault(NODE)
    return ground


def draining() -> Ground:
    ground = Ground(settings=FAST)
    ground.nodes[NODE].jobs = (JOB,)
    ground.step()
    ground.fault(NODE, policy=job_policy())
    ground.end(NODE)
    return ground


def remediating() -> Ground:
    ground = quarantining()
    ground.end(NODE)
    return ground


def releasing() -> Ground:
    ground = Ground(settings=FAST)
    case = ground.fault(NODE)
    ground.end(NODE)
    ground.end(NODE)
    ground.clear(NODE, case)
    ground.wait(90)
    return ground


def verifying() -> Ground:
    ground = Ground(settings=FAST)
    case = ground.fault(NODE, policy=msgspec.structs.replace(POLICY, tests=("burn",)))
    ground.end(NODE)
    ground.end(NODE)
    ground.clear(NODE, case)
    ground.wait(90)
    return ground


@pytest.mark.parametrize(
    ("prepare", "kind"),
    [
        (quarantining, IntentKind.QUARANTINE),
        (draining, IntentKind.MOVE_JOB),
        (remediating, IntentKind.REBOOT),
        (releasing, IntentKind.RELEASE),
    ],
)
def test_what_the_scheduler_refuses_counts_as_what_fails(prepare: object, kind: IntentKind) -> None:
    assert callable(prepare)
    ground = prepare()
    assert ground.kinds(NODE)[-1] is kind
    ground.end(NODE, PursuitResult.REFUSED, RefusalKind.NOT_ALLOWED)
    assert counted(ground) == 1


@pytest.mark.parametrize(
    ("prepare", "refusal"),
    [
        (draining, RefusalKind.IMPOSSIBLE),
        (remediating, RefusalKind.IMPOSSIBLE),
        (verifying, RefusalKind.UNFIT),
        (quarantining, RefusalKind.FOREIGN),
    ],
)
def test_what_was_never_requested_from_the_scheduler_counts_for_nothing(
    prepare: object, refusal: RefusalKind
) -> None:
    assert callable(prepare)
    ground = prepare()
    ground.end(NODE, PursuitResult.REFUSED, refusal)
    assert counted(ground) == 0


def opened() -> Ground:
    """Three quarantines were refused."""
    ground = Ground(settings=FAST)
    for name in ("n01", "n09", "n17"):
        ground.fault(name)
        ground.end(name, PursuitResult.REFUSED, RefusalKind.NOT_ALLOWED)
    return ground


def test_refused_quarantines_open_the_breaker() -> None:
    ground = opened()
    breaker = ground.state.breaker
    assert breaker.standing is BreakerStatus.OPEN
    assert breaker.why == "3 actions failed or were refused within 600 s"
    ground.fault("n25")
    assert ground.kinds("n25") == []


def test_with_the_breaker_open_the_text_says_so_and_no_approval_is_requested() -> None:
    ground = opened()
    before = len(ground.notes)
    ground.fault(NODE, policy=APPROVING)
    ground.wait(60)
    remedy = ground.remedy(NODE)
    assert remedy is not None
    assert remedy.stage is Stage.SUSPECT
    assert remedy.denial is not None
    assert remedy.denial.why is DenialKind.BREAKER
    texts = [note.text for note in ground.notes[before:] if note.node == NODE]
    assert any("held back: the breaker is open: 3 actions failed or were" in text for text in texts)
    assert not any("approval" in text or "may n03 be taken out" in text for text in texts)


def test_a_rule_that_asks_does_so_when_the_breaker_is_closed() -> None:
    ground = opened()
    ground.fault(NODE, policy=APPROVING)
    ground.send_command(Verb.RESET_BREAKER)
    ground.wait(5)
    remedy = ground.remedy(NODE)
    assert remedy is not None
    assert remedy.stage is Stage.AWAITING_APPROVAL
    assert remedy.denial is not None
    assert remedy.denial.why is DenialKind.APPROVAL


def test_what_waits_for_a_yes_when_the_breaker_opens_says_so_too() -> None:
    ground = Ground(settings=FAST)
    ground.fault(NODE, policy=APPROVING)
    for name in ("n01", "n09", "n17"):
        ground.fault(name)
        ground.end(name, PursuitResult.REFUSED, RefusalKind.NOT_ALLOWED)
    remedy = ground.remedy(NODE)
    assert remedy is not None
    assert remedy.stage is Stage.SUSPECT
    assert remedy.denial is not None
    assert "the breaker is open" in remedy.denial.text
    steps = planned(ground.state, NODE, ground.now, ground.settings).steps
    assert any("the breaker is open" in one.text for one in steps[0].in_the_way)
