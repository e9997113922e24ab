"""An archive played through the judge of a hub on a simulated clock: what each interval changes.

Samples count from the end of their interval, so that nothing is seen before it was there. A time in
which nobody at all was recorded was a rest of the recorder: nothing is judged in it, and nobody is
called silent for it.
"""

from collections.abc import Collection, Coroutine, Generator, Iterator, Mapping
from typing import Any, NamedTuple

from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.verdict import VerdictChange
from accelwatch.archive.history.layout import DEVICES, NODES
from accelwatch.archive.history.reader import Archive
from accelwatch.base.slices import LongWork
from accelwatch.fleet.backtest.ground import ArchiveGround
from accelwatch.fleet.backtest.stream import Interval, intervals
from accelwatch.fleet.rules.judge import FleetJudge
from accelwatch.schema.metrics import Series

REST_STEPS = 3
"""After so many intervals without any sample it was the recorder that rested."""


class Span(NamedTuple):
    """What of an archive is played, in Unix seconds; None: from its beginning, to its end."""

    start: float | None = None
    end: float | None = None


class Judged(NamedTuple):
    """One interval in which somebody was recorded."""

    number: int
    """Of the interval; those of a rest are counted too."""
    time: float
    """Unix seconds of its end."""
    changes: list[VerdictChange]
    """In the order of the rules."""


class Verdicts:
    """One pass over an archive by some rules; memory does not grow with its length."""

    def __init__(
        self,
        archive: Archive,
        rules: Mapping[str, Rule],
        span: Span,
        also: Collection[Series] = (),
    ) -> None:
        """`also` are series that others than the rules look at.

        Raises ArchiveError, and WindowsError for windows that are too dear.
        """
        self._archive = archive
        self.step_s = archive.description.interval_s
        self.started = archive.description.start if span.start is None else span.start
        self._end = float("inf") if span.end is None else span.end
        self.ground = ArchiveGround(archive, self.step_s, also)
        self.judge = FleetJudge(self.ground, rules, clock_ns=lambda: 0)
        self._told_at: float | None = None

    def each(self) -> Generator[Judged, None, None]:
        """One interval after the other. Raises ArchiveError."""
        for number, interval in enumerate(self._intervals()):
            if not self._is_rest(interval):
                yield Judged(number, interval.time, self._judged(interval))

    def _intervals(self) -> Iterator[Interval]:
        moments = self.ground.moments
        assert moments is not None
        self._devices = self._archive.samples(DEVICES, moments.series)
        self._nodes = self._archive.samples(NODES, moments.node_series)
        begin = self.started - self.started % self.step_s
        return intervals(
            (self._devices, moments.series),
            (self._nodes, moments.node_series),
            self.step_s,
            begin,
            self._end,
        )

    def _is_rest(self, interval: Interval) -> bool:
        """Whether nobody is recorded now; the first to be heard again wake everybody."""
        before = interval.time if self._told_at is None else self._told_at
        if not interval.devices and not interval.nodes:
            return interval.time - before > REST_STEPS * self.step_s
        self._told_at = interval.time
        if interval.time - before > REST_STEPS * self.step_s:
            self.ground.roster.wake(interval.time - self.step_s)
        return False

    def _judged(self, interval: Interval) -> list[VerdictChange]:
        ground, moments = self.ground, self.ground.moments
        assert moments is not None
        ground.now = interval.time
        ground.roster.meet(self._devices.entities, self._nodes.entities)
        moments.tell(interval.time, interval.devices, interval.nodes)
        ground.heard.advance(interval.time)
        return finished(self.judge.tick(LongWork()))


def finished(work: Coroutine[Any, Any, list[Any]]) -> list[Any]:
    """The result of work that rests but waits for nothing."""
    while True:
        try:
            work.send(None)
        except StopIteration as done:
            result: list[Any] = done.value
            return result
