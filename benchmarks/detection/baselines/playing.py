"""Plays an archive tick by tick, and keeps the incidents of a detector as a back-test prints them."""

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from accelwatch.alerting.rules.document import Advice
from accelwatch.archive.history.layout import DEVICES, NODES
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.archive.history.reading.samples import Entity, Frame
from accelwatch.archive.history.rows import EventRow, JobRow
from accelwatch.fleet.backtest.line import Explained, Line
from accelwatch.schema.metrics import Series

Array = np.ndarray
_SKEW: Series = ("fleet_target_clock_skew_seconds",)
# An incident ends when nothing was seen of it for so long; what begins anew soon is one false alarm.
_QUIET_S = 120.0


class View(NamedTuple):
    """One tick; `time` in Unix seconds."""

    time: float
    entities: Sequence[Entity]
    devices: Frame
    events: Sequence[EventRow]
    # Of each node that has one.
    jobs: Mapping[str, str]

    def matrix(self, signals: Sequence[Series]) -> Array:
        """Values by device and signal, NaN where there is none."""
        found = np.full((len(self.entities), len(signals)), np.nan)
        for at, series in enumerate(signals):
            column = self.devices.columns.get(series)
            if column is not None:
                found[: len(column), at] = column
        return found


class Sign(NamedTuple):
    """What a detector says of a device, or of a node where `device` is empty."""

    node: str
    device: str
    signal: str
    value: float | None
    expected: float | None = None
    z: float | None = None


class Detector(Protocol):
    """What is played."""

    name: str
    channel: str
    advice: Advice

    def signs(self, view: View) -> Sequence[Sign]:
        """Everything that is wrong at a tick."""


class _Open(NamedTuple):
    line: Line
    seen: float


class Incidents:
    """The incidents of one detector: one of each node until it was quiet for a while."""

    def __init__(self, detector: Detector) -> None:
        self._detector = detector
        self._open: dict[str, _Open] = {}
        self.lines: list[Line] = []

    def step(self, view: View) -> None:
        """One tick on."""
        for line, seen in self._open.values():
            if line.closed is None and view.time - seen > _QUIET_S:
                line.closed = seen + _QUIET_S
        for sign in self._detector.signs(view):
            existing = self._open.get(sign.node)
            if existing is None or existing.line.closed is not None:
                self.lines.append(self._line(view, sign))
                existing = _Open(self.lines[-1], view.time)
            self._open[sign.node] = existing._replace(seen=view.time)

    def _line(self, view: View, sign: Sign) -> Line:
        explained = Explained(
            signal=sign.signal, value=sign.value, expected=sign.expected, z=sign.z, since=view.time
        )
        return Line(
            opened=view.time,
            closed=None,
            level="alert",
            scope="device" if sign.device else "node",
            node=sign.node,
            device=sign.device or None,
            job=view.jobs.get(sign.node),
            nodes=[sign.node],
            rule=self._detector.name,
            channels=[self._detector.channel],
            advice=self._detector.advice,
            explanation=[explained],
        )


def play(
    archive: Archive, detectors: Sequence[Detector], wanted: Collection[Series]
) -> dict[str, list[Line]]:
    """The lines of each detector over a whole archive."""
    incidents = [Incidents(detector) for detector in detectors]
    for view in views(archive, wanted):
        for one in incidents:
            one.step(view)
    return {detector.name: one.lines for detector, one in zip(detectors, incidents, strict=True)}


def views(archive: Archive, wanted: Collection[Series]) -> Iterator[View]:
    """Every tick, with the events that the recorder had by then."""
    devices, nodes = archive.samples(DEVICES, wanted), archive.samples(NODES, [_SKEW])
    events, jobs = deque(archive.events()), _JobsOverTime(archive.jobs())
    skew: dict[str, float] = {}
    waiting: list[EventRow] = []
    for tick in archive.ticks(devices, nodes):
        column = tick.nodes.columns.get(_SKEW)
        if column is not None:
            for at in np.flatnonzero(np.isfinite(column)):
                skew[nodes.entities[at].node] = float(column[at])
        # Clocks of nodes are off by a minute at most: what may have come is looked at again.
        while events and events[0].time / 1000 <= tick.time + 300.0:
            waiting.append(events.popleft())
        came = [one for one in waiting if one.time / 1000 - skew.get(one.node, 0.0) <= tick.time]
        waiting = [one for one in waiting if one not in came] if came else waiting
        yield View(tick.time, devices.entities, tick.devices, came, jobs.at(tick.time))


class _JobsOverTime:
    """Which job each node has; moments come in order."""

    def __init__(self, rows: Sequence[JobRow]) -> None:
        changes = [(row.start / 1000, 1, row.node, row.job) for row in rows]
        changes += [(row.end / 1000, 0, row.node, row.job) for row in rows if row.end is not None]
        self._changes = deque(sorted(changes))
        self._jobs: dict[str, str] = {}

    def at(self, time: float) -> Mapping[str, str]:
        """The jobs of a moment."""
        while self._changes and self._changes[0][0] <= time:
            _, start, node, job = self._changes.popleft()
            if start:
                self._jobs[node] = job
            elif self._jobs.get(node) == job:
                del self._jobs[node]
        return self._jobs
