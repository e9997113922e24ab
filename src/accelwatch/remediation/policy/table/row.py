"""One row of the table of the state machine."""

from typing import NamedTuple

from accelwatch.action.intent import IntentKind
from accelwatch.remediation.policy.conditions.transition import Condition, Effect
from accelwatch.remediation.policy.state.stage import Stage, Trigger


class TransitionRow(NamedTuple):
    """One way from a stage to another."""

    stage: Stage
    trigger: Trigger
    # All must hold; they are evaluated in their order.
    conditions: tuple[Condition, ...] = ()
    # None: it stays where it is, and its clock goes on.
    target: Stage | None = None
    # The intent that starts.
    intent_kind: IntentKind | None = None
    # What is done besides, in this order.
    does: tuple[Effect, ...] = ()
    # The trigger counts as in the stage in which the doubt began.
    as_before: bool = False


Stages = Stage | tuple[Stage, ...]


def row(
    stages: Stages,
    trigger: Trigger,
    *conditions: Condition,
    to: Stage | None = None,
    intent: IntentKind | None = None,
    does: tuple[Effect, ...] = (),
    as_before: bool = False,
) -> tuple[TransitionRow, ...]:
    """The same row for each of the stages."""
    each = (stages,) if isinstance(stages, Stage) else stages
    return tuple(
        TransitionRow(stage, trigger, conditions, to, intent, does, as_before) for stage in each
    )
