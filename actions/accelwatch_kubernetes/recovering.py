"""What has become of a step whose end nobody saw, decided by what is observed now. Pure."""

from accelwatch.action.step import Recovery, ReportStatus, StartedStep
from accelwatch_kubernetes.rows import Effect
from accelwatch_kubernetes.scene import Scene

_WITHOUT_EFFECT = (ReportStatus.REFUSED, ReportStatus.RETRY, ReportStatus.NOT_STARTED)


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
    if effect.kind.idempotent or was_not_sent(started_step):
        return Recovery.REDO
    return Recovery.UNKNOWN


def was_not_sent(started_step: StartedStep) -> bool:
    """Whether it is known that nothing has happened."""
    report = started_step.report
    return started_step.started is None or (report is not None and report.status in _WITHOUT_EFFECT)
