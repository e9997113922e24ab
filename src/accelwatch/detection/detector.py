"""The detector: frames in, findings out. Pure; it knows no clock, no hub and no disk."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from accelwatch.detection.arrays import Bools, Floats
from accelwatch.detection.baselines.passes import Flagged, advance
from accelwatch.detection.baselines.state import DetectorState
from accelwatch.detection.channels.channel_set import Channels
from accelwatch.detection.channels.components.table import table_of
from accelwatch.detection.channels.prior import ConfirmedIncident
from accelwatch.detection.evidence import Channel, Evidence, Subject
from accelwatch.detection.findings import merging
from accelwatch.detection.findings.explaining import Tables
from accelwatch.detection.findings.finding import Finding, Scope
from accelwatch.detection.frame import Frame
from accelwatch.detection.fusion import fuse as fusion
from accelwatch.detection.fusion.fuse import Prior
from accelwatch.detection.fusion.row_levels import ALERTED
from accelwatch.detection.signals.device_signals import DEVICE_SIGNALS
from accelwatch.detection.signals.node_signals import NODE_SIGNALS
from accelwatch.detection.tick import Tick

# A history of the worst kind lowers thresholds by a fifth (design: channel K), and has this score.
_MOST_LOWERED, _FULL_SCORE = 0.2, 8.0


class Detector:
    """What is known of a fleet, and what goes on in it; of one fleet there is one."""

    def __init__(self) -> None:
        self.rows = DetectorState()
        self.channels = Channels(table_of(DEVICE_SIGNALS, NODE_SIGNALS))
        self.fusion: fusion.FusionState | None = None
        self.merging = merging.fresh()
        # Of the newest frame, to explain why something was found or not.
        self.tick: Tick | None = None
        self.evidence: Sequence[Evidence] = ()

    @property
    def findings(self) -> Mapping[str, Finding]:
        """Those that go on, by key."""
        return self.merging.open

    def record_incidents(self, incidents: Sequence[ConfirmedIncident]) -> None:
        """Replace all incidents, which lower the thresholds of the devices and nodes concerned."""
        self.channels.prior.replace(incidents)

    def detect(self, frame: Frame) -> tuple[Finding, ...]:
        """The findings that were opened, have changed or have ended with a frame.

        Frames are given in the order of time, one for each tick.
        """
        before = self.fusion or fusion.fresh(frame.now)
        flagged = Flagged(before.devices.level == ALERTED, before.nodes.level == ALERTED)
        tick = advance(self.rows, frame, flagged)
        evidence = self.channels.evidence(tick)
        self.fusion, fused = fusion.fuse(
            before,
            tick,
            evidence,
            prior_of(frame, evidence),
            _grouped(frame, self.findings.values()),
        )
        self.merging, changed = merging.merge(
            self.merging, tick, fused, evidence, Tables(DEVICE_SIGNALS, NODE_SIGNALS)
        )
        self.tick, self.evidence = tick, evidence
        return changed


def _grouped(frame: Frame, findings: Iterable[Finding]) -> Bools | None:
    """bool[M]: nodes that a finding of a group or job is about; None where there is no such finding."""
    wide = [finding.nodes for finding in findings if finding.scope in (Scope.GROUP, Scope.JOB)]
    return np.isin(frame.names.nodes, np.concatenate(wide)) if wide else None


def prior_of(frame: Frame, evidence: Sequence[Evidence]) -> Prior:
    """Factors of thresholds by what failed before."""
    return Prior(
        _factors(evidence, Subject.DEVICE, len(frame.node_of)),
        _factors(evidence, Subject.NODE, len(frame.node_state)),
    )


def _factors(evidence: Sequence[Evidence], subject: Subject, rows: int) -> Floats:
    factors = np.ones(rows)
    for piece in evidence:
        if piece.channel is Channel.PRIOR and piece.subject is subject:
            factors[piece.rows] = 1.0 - _MOST_LOWERED * piece.score / _FULL_SCORE
    return factors
