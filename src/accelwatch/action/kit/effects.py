"""What an action declares of its effects and readings, and how a step is recovered by that. Pure."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Generic, TypeVar

import msgspec

from accelwatch.action.observed import JobObservation
from accelwatch.action.step import Committed, Recovery, Report, StartedStep, Step, StepKind

# By what an action reaches its scheduler.
AccessT = TypeVar("AccessT")
# What an action has observed, as its proposals see it.
ContextT = TypeVar("ContextT")


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What an intent of some kind needs besides its node."""

    # Added to the observation's `own`.
    own: Mapping[str, str] = {}
    job: JobObservation | None = None
    proven_dead: bool = False


class Effect(msgspec.Struct, Generic[AccessT, ContextT], frozen=True, kw_only=True):
    """One kind of step."""

    kind: StepKind
    # Does one write. Raises ChangedError, WithdrawnError and ActionUnavailableError where nothing was
    # done, and as the action's client does.
    perform: Callable[[AccessT, Step, Committed], Awaitable[Report]]
    # Whether its effect is there to be seen; None where nothing was read that shows it. Pure.
    is_observed: Callable[[Step, ContextT], bool | None]
    # What has become of it after a crash, where `is_observed` does not decide that alone. Pure.
    recover: Callable[[StartedStep, ContextT], Recovery] | None = None


def recovered(
    started_step: StartedStep,
    effect: Effect[AccessT, ContextT] | None,
    context: ContextT,
    is_over: Callable[[StartedStep, StepKind, ContextT], bool],
) -> Recovery:
    """Done when its effect is observed; else again, where it had none, or does no harm twice.

    `is_over` says whether a step whose effect is not there can have none any more.
    """
    if effect is None:
        return Recovery.UNKNOWN
    if effect.recover is not None:
        return effect.recover(started_step, context)
    is_observed = effect.is_observed(started_step.step, context)
    if is_observed is None:
        return Recovery.UNKNOWN
    if is_observed:
        return Recovery.DONE
    if started_step.is_without_effect:
        return Recovery.REDO
    if effect.kind.idempotent and is_over(started_step, effect.kind, context):
        return Recovery.REDO
    return Recovery.UNKNOWN
