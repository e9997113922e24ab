"""What has become of a step whose end nobody saw, decided by what is observed now. Pure."""

from accelwatch.action.step import Recovery, ReportStatus, StartedStep
from accelwatch_backendai.rows import Effect
from accelwatch_backendai.scene import Scene


def recovered(started_step: StartedStep, effect: Effect | None, scene: Scene) -> Recovery:
    """Done when its effect is observed; else again, where it does no harm and cannot come any more.

    The manager goes on with a request whose sender is gone. What was sent and not answered may so come
    until `settle_s` is over: if it came after another attempt had failed, it would look like a person's.
    """
    if effect is None:
        return Recovery.UNKNOWN
    if effect.recover is not None:
        return effect.recover(started_step, scene)
    is_observed = effect.is_observed(started_step.step, scene)
    if is_observed is None:
        return Recovery.UNKNOWN
    if is_observed:
        return Recovery.DONE
    if started_step.is_without_effect:
        return Recovery.REDO
    return (
        Recovery.REDO
        if effect.kind.idempotent and _is_over(started_step, effect, scene)
        else (Recovery.UNKNOWN)
    )


def _is_over(started_step: StartedStep, effect: Effect, scene: Scene) -> bool:
    """Whether nothing of it can come any more; what was answered with done has been."""
    report = started_step.report
    if report is not None and report.status is ReportStatus.DONE:
        return True
    started = started_step.started or scene.time
    return scene.time - started >= effect.kind.settle_s / 2
