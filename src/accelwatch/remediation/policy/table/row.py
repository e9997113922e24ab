"""One row of the table of the state machine."""

from typing import NamedTuple

from accelwatch.action.intent import IntentKind
from accelwatch.remediation.policy.conditions.scene import Condition, Effect
from accelwatch.remediation.policy.state.stage import Stage, Trigger


class Row(NamedTuple):
    """One way from a stage to another."""

    stage: Stage
    trigger: Trigger
    conditions: tuple[Condition, ...] = ()
    """All must hold; they are asked in their order."""
    target: Stage | None = None
    """None: it stays where it is, and its clock goes on."""
    intent_kind: IntentKind | None = None
    """The intent that is begun."""
    does: tuple[Effect, ...] = ()
    """What is done besides, in this order."""
    as_before: bool = False
    """The trigger counts as in the stage in which the doubt began."""


Stages = Stage | tuple[Stage, ...]


def row(
    stages: Stages,
    trigger: Trigger,
    *conditions: Condition,
    to: Stage | None = None,
    intent: IntentKind | None = None,
    does: tuple[Effect, ...] = (),
    as_before: bool = False,
) -> tuple[Row, ...]:
    """The same row for each of the stages."""
    each = (stages,) if isinstance(stages, Stage) else stages
    return tuple(Row(stage, trigger, conditions, to, intent, does, as_before) for stage in each)
