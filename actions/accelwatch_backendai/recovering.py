"""What has become of a step whose end nobody saw, decided by what is observed now. Pure."""

from accelwatch.action.kit import effects
from accelwatch.action.step import Recovery, ReportStatus, StartedStep, StepKind
from accelwatch_backendai.observed_context import ObservedContext
from accelwatch_backendai.rows import Effect


def recovered(
    started_step: StartedStep, effect: Effect | None, context: ObservedContext
) -> Recovery:
    """Done when its effect is observed; else again, where it does no harm and cannot come any more.

    The manager goes on with a request whose sender is gone. What was sent and not answered may so come
    until `settle_s` is over: if it came after another attempt had failed, it would look like a person's.
    """
    return effects.recovered(started_step, effect, context, _is_over)


def _is_over(started_step: StartedStep, kind: StepKind, context: ObservedContext) -> bool:
    """Whether nothing of it can come any more; what was answered with done has been."""
    report = started_step.report
    if report is not None and report.status is ReportStatus.DONE:
        return True
    started = started_step.started or context.time
    return context.time - started >= kind.settle_s / 2
