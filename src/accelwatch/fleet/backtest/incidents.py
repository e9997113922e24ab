"""An archive played through the engine of a hub on a simulated clock: judge, spells, keeper, grouping.

Samples count from the end of their interval, so that nothing is seen before it was there. A time in
which nobody at all was recorded was a rest of the recorder: nothing is judged in it, and nobody is
called silent for it.
"""

from collections.abc import Coroutine, Iterator, Mapping
from typing import Any, NamedTuple

from accelwatch.fleet.backtest.ground import ArchiveGround
from accelwatch.fleet.backtest.stream import Interval, intervals
from accelwatch.fleet.rules.judge import FleetJudge
from accelwatch.fleet.slices import LongWork
from accelwatch.history.layout import DEVICES, NODES
from accelwatch.history.reader import Archive
from accelwatch.incidents.incident import Incident
from accelwatch.incidents.keeper import Keeper
from accelwatch.rules.rule import Rule

REST_STEPS = 3
"""After so many intervals without any sample it was the recorder that rested."""


class Step(NamedTuple):
    """One interval."""

    time: float
    """Unix seconds of its end."""
    changed: list[Incident]
    """As they stand now, each once."""


class Backtest:
    """One pass over an archive; memory does not grow with its length."""

    def __init__(
        self,
        archive: Archive,
        rules: Mapping[str, Rule],
        start: float | None = None,
        end: float | None = None,
    ) -> None:
        """Times in Unix seconds. Raises ArchiveError, and WindowsError for windows that are too dear."""
        self._archive = archive
        self.step_s = archive.description.interval_s
        self.started = archive.description.start if start is None else start
        self._end = float("inf") if end is None else end
        self.ground = ArchiveGround(archive, self.step_s)
        self.judge = FleetJudge(self.ground, rules, clock_ns=lambda: 0)
        self._number = 0
        self.keeper = Keeper(self.judge.rules, self.ground.facts, self._next_id)
        self.time = self.started
        """Up to where it has come, Unix seconds."""
        self._told_at: float | None = None

    def _next_id(self) -> str:
        self._number += 1
        return f"i{self._number}"

    def incidents(self) -> Iterator[Incident]:
        """Each incident when it is opened, and again whenever it changes. Raises ArchiveError."""
        for step in self.steps():
            yield from step.changed

    def steps(self) -> Iterator[Step]:
        """One interval after the other. Raises ArchiveError."""
        for interval in self._intervals():
            self.time = interval.time
            if self._is_rest(interval):
                continue
            yield Step(interval.time, self._step(interval))

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

    def _step(self, interval: Interval) -> list[Incident]:
        ground, moments = self.ground, self.ground.moments
        assert moments is not None
        ground.now = interval.time
        ground.roster.meet(self._devices.entities, self._nodes.entities)
        moments.tell(interval.time, interval.devices, interval.nodes)
        ground.heard.advance(interval.time)
        changes = finished(self.judge.tick(LongWork()))
        return self.keeper.step(changes, interval.time)


def finished(work: Coroutine[Any, Any, list[Any]]) -> list[Any]:
    """The result of work that rests but waits for nothing."""
    while True:
        try:
            work.send(None)
        except StopIteration as done:
            result: list[Any] = done.value
            return result
