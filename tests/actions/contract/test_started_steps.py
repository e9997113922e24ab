"""Of which started steps it is known that nothing has happened at the scheduler."""

import pytest

from accelwatch.action.step import Report, ReportStatus, StartedStep, Step

_WITHOUT_EFFECT = {ReportStatus.REFUSED, ReportStatus.RETRY, ReportStatus.NOT_STARTED}


@pytest.mark.parametrize("status", list(ReportStatus))
def test_a_refused_a_retried_and_a_withdrawn_step_have_had_no_effect(status: ReportStatus) -> None:
    report = Report(status=status)
    started_step = StartedStep(step=Step(kind="drain"), started=1.0, report=report)
    assert status.is_without_effect is (status in _WITHOUT_EFFECT)
    assert started_step.is_without_effect is (status in _WITHOUT_EFFECT)


def test_a_step_that_was_never_started_has_had_no_effect() -> None:
    assert StartedStep(step=Step(kind="drain"), started=None).is_without_effect


def test_a_step_without_a_report_may_have_happened() -> None:
    assert not StartedStep(step=Step(kind="drain"), started=1.0).is_without_effect
