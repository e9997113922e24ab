"""What channels report of a row by family, and what that is enough for. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np

from accelwatch.detection.arrays import Floats
from accelwatch.detection.detector import Detector, prior_of
from accelwatch.detection.evidence import Channel, Evidence, Subject
from accelwatch.detection.fusion.families import FAMILIES, family_of
from accelwatch.detection.fusion.strength import (
    AGREE,
    AGREE_S,
    ALONE,
    WATCH,
    WATCH_S,
    Strength,
    factors,
    is_lifted,
    pending_s,
    strength,
)
from accelwatch.detection.signals.device_signals import DEVICE_SIGNALS
from accelwatch.detection.signals.node_signals import NODE_SIGNALS
from accelwatch.detection.signals.signal import ANY, SignalRow
from accelwatch.detection.status.documents import EvidenceStatus, FamilyStatus, Threshold
from accelwatch.detection.tick import Tick
from accelwatch.schema.series import path_of


class Observed(NamedTuple):
    """The newest frame of a detector, and what it makes of it by subject."""

    tick: Tick
    evidence: Sequence[Evidence]
    strength: dict[Subject, Strength]

    @classmethod
    def of(cls, detector: Detector, tick: Tick) -> Self:
        """As fusion reads it, by the thresholds that are in force after the frame."""
        frame, evidence = tick.frame, detector.evidence
        raised = (
            np.ones(len(FAMILIES)) if detector.fusion is None else detector.fusion.budget.factor
        )
        prior = prior_of(frame, evidence)
        by_subject: dict[Subject, Floats] = {
            Subject.DEVICE: prior.devices,
            Subject.NODE: prior.nodes,
            Subject.JOB: np.ones(len(frame.names.jobs)),
        }
        return cls(
            tick,
            evidence,
            {
                subject: strength(frame, evidence, subject, factors(raised, own))
                for subject, own in by_subject.items()
            },
        )


def families_of(observed: Observed, subject: Subject, row: int) -> tuple[FamilyStatus, ...]:
    """Every family, also those in which nothing is found."""
    reported: dict[str, list[EvidenceStatus]] = {}
    for family, evidence in _evidence(observed, subject, row):
        reported.setdefault(family, []).append(evidence)
    combined, largest = observed.strength[subject], _largest(observed.tick, subject, row)
    return tuple(
        _family(combined, position, row, largest.get(family.name), reported.get(family.name, ()))
        for position, family in enumerate(FAMILIES)
    )


def quiet_channels(families: Iterable[FamilyStatus]) -> tuple[str, ...]:
    """Channels that report nothing; past incidents only move thresholds."""
    reporting = {evidence.channel for family in families for evidence in family.evidence}
    return tuple(
        channel.value
        for channel in Channel
        if channel is not Channel.PRIOR and channel.value not in reporting
    )


def signals_of(subject: Subject) -> tuple[SignalRow, ...]:
    """The signals of a subject in the order of a tick's arrays; a job has none."""
    return {Subject.DEVICE: DEVICE_SIGNALS, Subject.NODE: NODE_SIGNALS}.get(subject, ())


def name_of(signal: SignalRow) -> str:
    """A signal as findings name it."""
    return path_of(tuple(label for label in signal.series if label != ANY))


def _family(
    combined: Strength,
    position: int,
    row: int,
    z: float | None,
    evidence: Sequence[EvidenceStatus],
) -> FamilyStatus:
    family = FAMILIES[position]
    factor = float(combined.factor[position, row])
    strongest = sorted(evidence, key=lambda each: (each.weight != "decisive", -each.score))
    return FamilyStatus(
        family=family.name,
        score=float(combined.score[position, row]),
        lasted_s=strongest[0].lasted_s if strongest else 0.0,
        z=z,
        factor=factor,
        watch=Threshold(score=WATCH * factor, lasted_s=WATCH_S),
        agree=Threshold(score=AGREE * factor, lasted_s=AGREE_S),
        alert=Threshold(score=ALONE * factor, lasted_s=pending_s(family)),
        enough_for=_enough_for(combined, position, row),
        evidence=tuple(strongest),
    )


def _enough_for(combined: Strength, position: int, row: int) -> str:
    columns = (
        ("alert", combined.decisive),
        ("alert", combined.alone),
        ("watch", combined.watched),
        ("agrees", combined.agrees),
        ("confirms", combined.confirms),
    )
    return next((text for text, column in columns if column[position, row]), "")


def _evidence(
    observed: Observed, subject: Subject, row: int
) -> Iterator[tuple[str, EvidenceStatus]]:
    """What is reported of a row, with its family; of a node also what its devices say of it."""
    frame = observed.tick.frame
    for item in observed.evidence:
        lifted = is_lifted(item)
        if item.channel is Channel.PRIOR or subject is not (
            Subject.NODE if lifted else item.subject
        ):
            continue
        rows = frame.node_of[item.rows] if lifted else item.rows
        signals = signals_of(item.subject)
        for at in np.flatnonzero(rows == row).tolist():
            signal = int(item.signal[at])
            named = name_of(signals[signal]) if 0 <= signal < len(signals) else item.cause
            yield (
                family_of(item.family).name,
                EvidenceStatus(
                    channel=item.channel.value,
                    weight=item.weight.value,
                    score=float(item.score[at]),
                    lasted_s=float(item.sustained_s[at]),
                    cause=named,
                    device=frame.names.devices[int(item.rows[at])] if lifted else "",
                ),
            )


def _largest(tick: Tick, subject: Subject, row: int) -> dict[str, float]:
    """By family the largest z of its signals by size, with its sign."""
    largest: dict[str, float] = {}
    if subject is Subject.JOB:
        return largest
    level = tick.devices if subject is Subject.DEVICE else tick.nodes
    for signal, z in zip(signals_of(subject), level.z[:, row].tolist(), strict=True):
        if np.isfinite(z) and abs(z) >= abs(largest.get(signal.family, 0.0)):
            largest[signal.family] = z
    return largest
