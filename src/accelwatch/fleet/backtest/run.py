"""A back-test from beginning to end: lines in the order of `opened`, each when it is final."""

from collections import deque
from collections.abc import Callable, Iterator

from accelwatch.alerting.incidents.grouping.cause import Cause
from accelwatch.alerting.incidents.grouping.cause_rules import is_over
from accelwatch.alerting.incidents.grouping.causes import Causes
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.fleet.backtest.calendar import Maintenance
from accelwatch.fleet.backtest.incidents import Backtest
from accelwatch.fleet.backtest.line import Line, line_of_report


def final_lines(
    archive: Archive, backtest: Backtest, report_progress: Callable[[float], None] = lambda _: None
) -> Iterator[Line]:
    """Every line, ordered by `opened`; `report_progress` gets up to where it has come. Raises
    ArchiveError.
    """
    maintenance = Maintenance(archive.maintenance())
    causes = Causes(
        backtest.rules,
        backtest.suspects,
        maintenance.until,
    )
    waiting: deque[tuple[Cause, Line]] = deque()
    for step in backtest.steps():
        waiting.extend(
            (report.cause, line_of_report(report, backtest.rules, step.time))
            for report in causes.step(step.changed, step.time)
        )
        report_progress(step.time)
        while waiting and is_over(waiting[0][0], step.time):
            yield _final(*waiting.popleft())
    while waiting:
        yield _final(*waiting.popleft())


def _final(cause: Cause, line: Line) -> Line:
    line.closed = cause.closed
    return line
