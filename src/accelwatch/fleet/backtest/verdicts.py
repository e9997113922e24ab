"""An archive played through the judge of a hub on a simulated clock: what each interval changes.

Samples count from the end of their interval, so that nothing is seen before it was there. A time in
which nobody at all was recorded was a rest of the recorder: nothing is judged in it, and nobody is
called silent for it.
"""

from collections.abc import Collection, Generator, Iterator, Mapping
from typing import NamedTuple

from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.verdict import VerdictChange
from accelwatch.archive.history.layout import DEVICES, NODES
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.base.slices import LongWork, at_once
from accelwatch.fleet.backtest.calendar import Maintenance
from accelwatch.fleet.backtest.context.archive_rule_context import ArchiveRuleContext
from accelwatch.fleet.backtest.context.stream import Interval, intervals
from accelwatch.fleet.detection.frames import Frames
from accelwatch.fleet.detection.running import FleetDetector
from accelwatch.fleet.rules.rule_evaluator import FleetRuleEvaluator
from accelwatch.schema.metrics import Series

# After so many intervals without any sample it was the recorder that rested.
REST_STEPS = 3


class Span(NamedTuple):
    """What of an archive is played, in Unix seconds; None: from its beginning, to its end."""

    start: float | None = None
    end: float | None = None


class EvaluatedInterval(NamedTuple):
    """One interval in which somebody was recorded."""

    # Of the interval; those of a rest are counted too.
    number: int
    # Unix seconds of its end.
    time: float
    # In the order of the rules.
    changes: list[VerdictChange]


class Verdicts:
    """One pass over an archive by some rules; memory does not grow with its length."""

    def __init__(
        self,
        archive: Archive,
        rules: Mapping[str, Rule],
        span: Span,
        also: Collection[Series] = (),
    ) -> None:
        """`also` are series that others than the rules read.

        Raises ArchiveError, and WindowsError for windows that are too dear.
        """
        self._archive = archive
        self.step_s = archive.description.interval_s
        self.started = archive.description.start if span.start is None else span.start
        self._end = float("inf") if span.end is None else span.end
        self.context = ArchiveRuleContext(archive, self.step_s, also)
        frames = Frames(
            self.context.event_history,
            self.step_s,
            archive.series(),
            Maintenance(archive.maintenance()).working,
        )
        detector = FleetDetector(frames)
        self.evaluator = FleetRuleEvaluator(
            self.context, rules, clock_ns=lambda: 0, detector=detector
        )
        self._recorded_at: float | None = None

    def each(self) -> Generator[EvaluatedInterval, None, None]:
        """One interval after the other. Raises ArchiveError."""
        for number, interval in enumerate(self._intervals()):
            if not self._is_rest(interval):
                yield EvaluatedInterval(number, interval.time, self._evaluate(interval))

    def _intervals(self) -> Iterator[Interval]:
        table_view = self.context.table_view
        assert table_view is not None
        self._devices = self._archive.samples(DEVICES, table_view.samples.series)
        self._nodes = self._archive.samples(NODES, table_view.samples.node_series)
        start = self.started - self.started % self.step_s
        return intervals(
            (self._devices, table_view.samples.series),
            (self._nodes, table_view.samples.node_series),
            self.step_s,
            start,
            self._end,
        )

    def _is_rest(self, interval: Interval) -> bool:
        """Whether nothing is recorded now; the first samples after a rest wake all nodes."""
        before = interval.time if self._recorded_at is None else self._recorded_at
        if not interval.devices and not interval.nodes:
            return interval.time - before > REST_STEPS * self.step_s
        self._recorded_at = interval.time
        if interval.time - before > REST_STEPS * self.step_s:
            self.context.device_index.wake(interval.time - self.step_s)
        return False

    def _evaluate(self, interval: Interval) -> list[VerdictChange]:
        context, table_view = self.context, self.context.table_view
        assert table_view is not None
        context.now = interval.time
        context.device_index.meet(self._devices.entities, self._nodes.entities)
        table_view.add_samples(interval.time, interval.devices, interval.nodes)
        context.event_history.advance(interval.time)
        return at_once(self.evaluator.tick(LongWork()))
