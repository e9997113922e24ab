"""How many effects of one scheduler are under way together."""

from accelwatch.action.step import StepKind
from accelwatch.remediation.execution.operations.lanes import Lanes

USUAL = StepKind(idempotent=True, reversible=True)
MANY = StepKind(idempotent=True, reversible=True, at_once=3)
SLOW = StepKind(idempotent=True, reversible=True, timeout_s=3600.0, at_once=3)


def free(lanes: Lanes, action: str, kind: StepKind) -> int:
    """Places that are left; they are taken."""
    semaphore = lanes.effects(action, kind)
    left = 0
    while not semaphore.locked():
        semaphore._value -= 1
        left += 1
    return left


def test_as_many_as_the_action_declares_and_each_scheduler_for_itself() -> None:
    lanes = Lanes()
    assert free(lanes, "a", MANY) == 3
    assert free(lanes, "a", MANY) == 0
    assert free(lanes, "b", MANY) == 3
    assert free(lanes, "a", USUAL) == 8


def test_what_is_slow_takes_no_slot_of_what_is_quick() -> None:
    lanes = Lanes()
    assert free(lanes, "a", SLOW) == 3
    assert free(lanes, "a", MANY) == 3


def test_less_where_less_is_wanted_than_declared() -> None:
    lanes = Lanes(2)
    assert free(lanes, "a", MANY) == 2
    assert free(lanes, "b", USUAL) == 2
