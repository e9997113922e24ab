"""A detector beside the rules of a fleet: fed at its pace, its findings are facts of rows."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

import numpy as np

from accelwatch.archive.detector.detector_memory import DetectorMemory
from accelwatch.base.slices import LongWork
from accelwatch.detection.arrays import Indices
from accelwatch.detection.detector import Detector
from accelwatch.detection.findings.finding import Finding, Scope
from accelwatch.detection.frame import Frame
from accelwatch.expr.needs import Needs
from accelwatch.expr.vocabulary.detector_names import SUBJECTS
from accelwatch.fleet.detection.frames import Frames
from accelwatch.fleet.rules.columns.detector_facts import DetectorFacts, Generations
from accelwatch.fleet.rules.columns.rule_context import TableViews

logger = logging.getLogger(__name__)

# Ticks are not to the moment: a frame that is due in less than this is made now.
_EARLY_S = 0.5

# Gives a detector what it has to know besides a frame, before it sees that.
BeforeFrame = Callable[[Detector, Frame, LongWork], Awaitable[None]]


class OwnColumns(Protocol):
    """Columns that the detector alone reads, at its own pace."""

    # Who is in the rows of the newest `refresh`.
    generations: Generations

    def monotonic(self) -> float:
        """Seconds that only grow, whoever sets the clock."""
        ...

    async def refresh(self, work: LongWork) -> TableViews:
        """All that frames read, up to date."""
        ...


class FleetDetector:
    """The detector of one fleet; the loop's thread only, but for the passes themselves."""

    def __init__(
        self,
        frames: Frames,
        own_columns: OwnColumns | None = None,
        before_frame: BeforeFrame | None = None,
        memory: DetectorMemory | None = None,
    ) -> None:
        """With columns of its own the passes run in a thread, the loop goes on meanwhile, and what is
        their findings count from the next tick on; else they run in place over the columns of the rules.

        `memory` keeps what is known over restarts, in the thread; without a thread nothing is kept.
        """
        self._memory = memory or DetectorMemory(None)
        self._before_frame = before_frame
        self.detector = Detector()
        self.frames = frames
        self.facts = DetectorFacts()
        self._own_columns = own_columns
        self._detected_at = -np.inf
        # A frame in process, or a file that is written: never both, never two.
        self._running: asyncio.Task[None] | None = None
        self._is_paused = False

    @property
    def needs(self) -> Needs:
        """What the columns of the rules have to provide besides."""
        return self.frames.needs if self._own_columns is None else Needs()

    @property
    def problem(self) -> str:
        """Why what it knows is not kept over a restart; empty while all is well."""
        return self._memory.problem

    async def detect(self, columns: TableViews, work: LongWork) -> None:
        """Run on columns that are up to date, if the interval is over. Raises nothing."""
        self._is_paused = False
        own = self._own_columns
        now = columns.now if own is None else own.monotonic()
        due = now - self._detected_at >= self.frames.interval_s - _EARLY_S
        if not due or (self._running is not None and not self._running.done()):
            return
        self._detected_at = now
        if own is None:
            frame = await self.frames.frame(columns, work)
            self.detector.detect(frame)
            self._publish(frame)
            return
        try:
            own_views = await own.refresh(work)
            observed = own.generations
            frame = await self.frames.frame(own_views, work)
            if self._before_frame is not None:
                await self._before_frame(self.detector, frame, work)
        except Exception:
            # Rules go on without it.
            logger.exception("the detector has no frame of this moment")
            return
        self._running = asyncio.create_task(self._detect_in_thread(frame, observed))

    def pause(self) -> None:
        """No rule needs its findings: nothing is known until it runs again."""
        self._is_paused = True
        self.facts.clear()

    async def _detect_in_thread(self, frame: Frame, observed: Generations) -> None:
        try:
            await asyncio.to_thread(self._next_frame, frame)
            self._publish(frame, observed)
        except Exception:
            # Its state may be half written; rules go on, and it starts from nothing.
            logger.exception("the detector failed and restarts without its baselines")
            self.detector = Detector()
            self.facts.clear()
        if self._memory.is_due(frame.now):
            await self._save()

    def _next_frame(self, frame: Frame) -> None:
        self._memory.restore(self.detector, self.frames, frame)
        self.detector.detect(frame)

    async def _save(self) -> None:
        try:
            await asyncio.to_thread(self._memory.save, self.detector, self.frames)
        except Exception:
            logger.exception("what the detector knows could not be written")

    async def between_frames(self) -> Detector:
        """The detector while it processes no frame: up to the caller's next `await`."""
        # The next frame may have started before we go on.
        while self._running is not None and not self._running.done():
            await self._running
        return self.detector

    async def stop(self) -> None:
        """Wait for the frame in process, and save the detector's state."""
        await self.between_frames()
        self._running = asyncio.create_task(self._save())
        await self._running

    def _publish(self, frame: Frame, observed: Generations | None = None) -> None:
        if self._is_paused:
            return
        findings = tuple(self.detector.findings.values())
        rows = FindingRows(frame)
        at = {subject: rows.of(findings, Scope(subject)) for subject in SUBJECTS}
        self.facts.update(findings, at, observed)


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
