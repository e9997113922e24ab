"""A detector beside the rules of a fleet: fed at its pace, its findings are facts of rows."""

import asyncio
import logging
from collections.abc import Iterable

import numpy as np

from accelwatch.base.slices import LongWork
from accelwatch.detection.arrays import Indices
from accelwatch.detection.detector import Detector
from accelwatch.detection.finding import Finding, Scope
from accelwatch.detection.frame import Frame
from accelwatch.detection.signals.device_signals import DEVICE_SIGNALS
from accelwatch.detection.signals.node_signals import NODE_SIGNALS
from accelwatch.expr.needs import Needs
from accelwatch.expr.vocabulary.detector_names import SUBJECTS
from accelwatch.fleet.detection.frames import Frames, InMaintenance
from accelwatch.fleet.rules.columns.detector_facts import DetectorFacts
from accelwatch.fleet.rules.columns.event_columns import EventHistory
from accelwatch.fleet.rules.columns.rule_context import TableViews
from accelwatch.schema.metrics import Series

logger = logging.getLogger(__name__)


class FleetDetector:
    """The detector of one fleet; the loop's thread only, but for the passes themselves."""

    def __init__(
        self,
        history: EventHistory,
        existing: Iterable[Series],
        interval_s: float,
        in_maintenance: InMaintenance = lambda _node, _now: False,
        *,
        in_thread: bool = True,
    ) -> None:
        """`existing` are the series that anybody has; `interval_s` is between two frames.

        With `in_thread` the loop goes on meanwhile, and what is found counts from the next tick on.
        """
        self.detector = Detector()
        self.frames = Frames(
            (DEVICE_SIGNALS, NODE_SIGNALS), existing, history, interval_s, in_maintenance
        )
        self.needs: Needs = self.frames.needs
        self.facts = DetectorFacts()
        self._interval_s, self._in_thread = interval_s, in_thread
        self._detected_at = -np.inf
        self._running: asyncio.Task[None] | None = None

    async def detect(self, columns: TableViews, work: LongWork) -> None:
        """Look at columns that have just been brought to this moment, if it is time."""
        # Samples of a tick that comes a little early are those of this frame.
        due = columns.now - self._detected_at >= 0.9 * self._interval_s
        if not due or (self._running is not None and not self._running.done()):
            return
        self._detected_at = columns.now
        frame = await self.frames.frame(columns, work)
        if not self._in_thread:
            self.detector.detect(frame)
            self._publish(frame)
            return
        self._running = asyncio.create_task(self._detect_in_thread(frame))

    async def _detect_in_thread(self, frame: Frame) -> None:
        try:
            await asyncio.to_thread(self.detector.detect, frame)
        except Exception:
            # What it knows may be half written; rules go on, and it begins anew.
            logger.exception("the detector failed and starts anew without its baselines")
            self.detector = Detector()
        self._publish(frame)

    async def stop(self) -> None:
        """Wait for the frame that is being looked at."""
        if self._running is not None:
            await self._running

    def _publish(self, frame: Frame) -> None:
        findings = tuple(self.detector.findings.values())
        rows = FindingRows(frame)
        at = {subject: rows.of(findings, Scope(subject)) for subject in SUBJECTS}
        self.facts.update(findings, at)


class FindingRows:
    """Which rows of a frame findings concern."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        names = frame.names
        self._nodes = {name: row for row, name in enumerate(names.nodes)}
        self._jobs = {name: code for code, name in enumerate(names.jobs)}

    def of(self, findings: Iterable[Finding], scope: Scope) -> Indices:
        """intp[rows]: position among the findings of the one of a scope that concerns a row, else -1."""
        at: Indices = np.full(len(self._frame.node_of), -1, dtype=np.intp)
        for position, finding in enumerate(findings):
            if finding.scope is scope:
                at[self._rows(finding)] = position
        return at

    def _rows(self, finding: Finding) -> Indices:
        frame = self._frame
        match finding.scope:
            case Scope.JOB:
                concerned = frame.job == self._jobs.get(finding.job, -2)
            case Scope.GROUP:
                nodes = [self._nodes[node] for node in finding.nodes if node in self._nodes]
                concerned = np.isin(frame.node_of, nodes)
            case _:
                concerned = frame.node_of == self._nodes.get(finding.node, -2)
        rows = np.flatnonzero(concerned)
        if finding.scope is Scope.DEVICE:
            rows = np.array(
                [row for row in rows if frame.names.devices[row] == finding.device], dtype=np.intp
            )
        return rows
