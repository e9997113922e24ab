"""What has become of a step whose end nobody saw, decided by what is observed now. Pure."""

from accelwatch.action.kit import effects
from accelwatch.action.step import Recovery, StartedStep, StepKind
from accelwatch_kubernetes.observed_context import ObservedContext
from accelwatch_kubernetes.rows import Effect


def recovered(
    started_step: StartedStep, effect: Effect | None, context: ObservedContext
) -> Recovery:
    """Done when its effect is observed; else again, where that does no harm or it never was sent."""
    return effects.recovered(started_step, effect, context, _is_over)


def _is_over(_started_step: StartedStep, _kind: StepKind, _context: ObservedContext) -> bool:
    """A write has the version that was read: once another client has written, it is refused."""
    return True
