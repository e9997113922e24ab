"""A back-test published while it runs: each line as soon as it would have been sent, and its end.

For views that show incidents while they are being found; `run` gives each line once and in order.
"""

from collections.abc import Iterator

import msgspec

from accelwatch.alerting.incidents.grouping.cause import Cause
from accelwatch.alerting.incidents.grouping.cause_rules import is_over
from accelwatch.alerting.incidents.grouping.causes import Causes
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.fleet.backtest.calendar import Maintenance
from accelwatch.fleet.backtest.incidents import Backtest
from accelwatch.fleet.backtest.line import Line, line_of_report

# Of the archive, between two words on how far it has come.
REPORT_EVERY_S = 1800.0


class Reached(msgspec.Struct, frozen=True, tag="reached"):
    """It was judged up to here, Unix seconds."""

    until: float


class IncidentUpdate(msgspec.Struct, frozen=True, tag="found"):
    """An incident, as it stands now; the same number again means that it is over, or not any more."""

    number: int
    line: Line


class _Open:
    """A line whose end is not settled."""

    def __init__(self, number: int, cause: Cause, line: Line) -> None:
        self.number, self.cause, self.line = number, cause, line

    def changed(self) -> IncidentUpdate | None:
        """The line, if its end differs from the published one."""
        if self.cause.closed == self.line.closed:
            return None
        self.line.closed = self.cause.closed
        return IncidentUpdate(self.number, self.line)


def growing(archive: Archive, backtest: Backtest) -> Iterator[IncidentUpdate | Reached]:
    """What is found, while the archive is played. Raises ArchiveError."""
    maintenance = Maintenance(archive.maintenance())
    causes = Causes(
        backtest.rules,
        backtest.suspects,
        maintenance.until,
    )
    going_on: list[_Open] = []
    number, following = 0, backtest.started
    for step in backtest.steps():
        for report in causes.step(step.changed, step.time):
            number += 1
            line = line_of_report(report, backtest.rules, step.time)
            going_on.append(_Open(number, report.cause, line))
            yield IncidentUpdate(number, line)
        for entry in going_on:
            if (update := entry.changed()) is not None:
                yield update
        going_on = [entry for entry in going_on if not is_over(entry.cause, step.time)]
        if step.time >= following:
            following = step.time + REPORT_EVERY_S
            yield Reached(step.time)
    yield Reached(backtest.time)
