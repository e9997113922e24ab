"""What has become of a step whose end nobody saw, decided by what is observed now. Pure."""

from accelwatch.action.step import Recovery, StartedStep
from accelwatch_kubernetes.rows import Effect
from accelwatch_kubernetes.scene import Scene


def recovered(started_step: StartedStep, effect: Effect | None, scene: Scene) -> Recovery:
    """Done when its effect is observed; else again, where that does no harm or it never was sent."""
    if effect is None:
        return Recovery.UNKNOWN
    if effect.recover is not None:
        return effect.recover(started_step, scene)
    is_observed = effect.is_observed(started_step.step, scene)
    if is_observed is None:
        return Recovery.UNKNOWN
    if is_observed:
        return Recovery.DONE
    if effect.kind.idempotent or started_step.is_without_effect:
        return Recovery.REDO
    return Recovery.UNKNOWN
