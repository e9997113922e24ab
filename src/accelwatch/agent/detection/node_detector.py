"""A detector beside the rules of one node: its findings are facts of the devices there."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from accelwatch.agent.detection.node_frames import NodeFrames
from accelwatch.alerting.incidents.model.silence import Maintenance
from accelwatch.alerting.rules.finding_evidence import evidence_of_finding
from accelwatch.alerting.rules.finding_facts import number_of, text_of
from accelwatch.alerting.rules.verdict import Evidence
from accelwatch.archive.detector.detector_memory import FILE, DetectorMemory
from accelwatch.detection.detector import Detector
from accelwatch.detection.findings.finding import Finding, Scope
from accelwatch.detection.frame import Frame
from accelwatch.expr.vocabulary.detector_names import DETECTOR_FIELDS, SUBJECTS, DetectorField
from accelwatch.expr.vocabulary.kleene import MISSING, Key, Lookup, Missing, Value
from accelwatch.expr.vocabulary.names import Type
from accelwatch.schema.snapshot import Snapshot

logger = logging.getLogger(__name__)

# As a hub looks: a hard fault is found after two frames at most.
INTERVAL_S = 15.0
# A tick that comes earlier than it is due by less than this share is not put off to the next.
_EARLY = 0.1

Windows = Callable[[], Iterable[Maintenance]]


class NodeDetector:
    """The detector of one node; the loop's thread only, but for the passes themselves."""

    def __init__(self, windows: Windows = tuple, folder: Path | None = None) -> None:
        """`windows` are those of maintenance that are announced.

        What it knows is kept in `folder` over restarts; without one it is not.
        """
        self._memory = DetectorMemory(None if folder is None else folder / FILE)
        # Whether the passes run, in a thread that goes on when nobody waits any more.
        self._is_running = False
        self._windows = windows
        self._detector = Detector()
        self._frames = NodeFrames()
        self._interval_s, self._early_s = INTERVAL_S, _EARLY * INTERVAL_S
        self._detected_at = float("-inf")
        self.findings: Sequence[Finding] = ()
        # The job of each device, by id; None before the first frame, when nothing is known.
        self._jobs: Mapping[str, str] | None = None

    def pace(self, interval_s: float) -> None:
        """Rules are evaluated this often, and so it is fed no more often."""
        self._interval_s = max(INTERVAL_S, interval_s)
        # Where the next tick would be nearer to the due moment, it waits for that.
        self._early_s = min(_EARLY * self._interval_s, interval_s / 2)

    async def detect(self, snapshot: Snapshot, at: float) -> None:
        """Run on a snapshot at a monotonic time, if the interval is over.

        The passes run in a thread: streams and scrapes are served meanwhile.
        """
        if at - self._detected_at < self._interval_s - self._early_s:
            return
        self._detected_at = at
        maintained = any(
            window.covers((snapshot.host,), snapshot.time) for window in self._windows()
        )
        frame = self._frames.frame(snapshot, at, self._interval_s, maintained=maintained)
        try:
            await asyncio.to_thread(self._next_frame, frame)
        except Exception:
            # Its state may be half written; rules go on, and it starts from nothing.
            logger.exception("the detector failed and restarts without its baselines")
            self._detector = Detector()
        self.findings = tuple(self._detector.findings.values())
        self._jobs = _jobs_of(frame)

    def _next_frame(self, frame: Frame) -> None:
        self._is_running = True
        try:
            self._memory.restore(self._detector, self._frames, frame)
            self._detector.detect(frame)
            if self._memory.is_due(frame.now):
                self._memory.save(self._detector, self._frames)
        finally:
            self._is_running = False

    def close(self) -> None:
        """Save the detector's state, unless a frame is being processed."""
        if not self._is_running:
            self._memory.save(self._detector, self._frames)

    def lookup(self, device: str, lookup: Lookup) -> Lookup:
        """The lookup of a device, or of `HOST`, that answers to the names of findings too."""
        if self._jobs is None:
            return lookup

        def value(key: Key) -> Value | Missing:
            field = DETECTOR_FIELDS.get(key) if isinstance(key, str) else None
            return lookup(key) if field is None else _fact(self.of(field.subject, device), field)

        return value

    def evidence(self, subject: str, device: str) -> tuple[Evidence, ...]:
        """What the finding of a device as a `subject` (empty: the narrowest) rests on."""
        finding = self.of(subject, device)
        return () if finding is None else evidence_of_finding(finding)

    def of(self, subject: str, device: str) -> Finding | None:
        """The finding that concerns a device, or `HOST`, as a `subject` (empty: the narrowest)."""
        subjects = (subject,) if subject else SUBJECTS
        matching = (self._matching(Scope(each), device) for each in subjects)
        return next((finding for finding in matching if finding is not None), None)

    def _matching(self, scope: Scope, device: str) -> Finding | None:
        job = (self._jobs or {}).get(device, "")
        for finding in self.findings:
            if finding.scope is not scope:
                continue
            match scope:
                case Scope.DEVICE:
                    concerned = finding.device == device
                case Scope.JOB:
                    concerned = bool(job) and finding.job == job
                case _:
                    # All there is on one node is of that node.
                    concerned = True
            if concerned:
                return finding
        return None


def _fact(finding: Finding | None, field: DetectorField) -> Value | Missing:
    """Where nothing was found flags are not set, and the rest is missing."""
    if finding is None:
        return 0.0 if field.type is Type.FLAG else MISSING
    if field.type is Type.STRING:
        return text_of(finding, field.field) or MISSING
    return number_of(finding, field.field)


def _jobs_of(frame: Frame) -> dict[str, str]:
    names, codes = frame.names, frame.job.tolist()
    return {
        device: names.jobs[code] if code >= 0 else ""
        for device, code in zip(names.devices, codes, strict=True)
    }
