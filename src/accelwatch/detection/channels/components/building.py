"""How channels make `Evidence` of arrays, and which rows may be judged at all."""

import zlib
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from accelwatch.detection.arrays import Bools, Floats, Indices
from accelwatch.detection.evidence import Channel, Evidence, Subject, Weight
from accelwatch.detection.frame import DeviceState, Frame, NodeState
from accelwatch.detection.fusion.families import family_of
from accelwatch.detection.tick import Tick


def evaluated_nodes(tick: Tick) -> Bools:
    """bool[M]: up, and nobody works at them."""
    frame = tick.frame
    silent = frame.node_state == NodeState.DOWN
    return np.asarray(~silent & ~frame.maintenance)


def evaluated_devices(tick: Tick) -> Bools:
    """bool[N]: on a node that is judged, and not in others' hands."""
    frame = tick.frame
    elsewhere = (frame.device_state == DeviceState.AWAY) | (frame.device_state == DeviceState.STALE)
    return np.asarray(evaluated_nodes(tick)[frame.node_of] & ~elsewhere)


class Scored(NamedTuple):
    """Levels of one subject: indices of signals by family, and float64[S, R] as `by_family` has them."""

    families: Mapping[str, Indices]
    score: Floats
    since: Floats


def of_both(channel: Channel, devices: Scored, nodes: Scored, now: float) -> list[Evidence]:
    """Statistical evidence of devices, then of nodes, for each family."""
    return [
        evidence
        for subject, scored in ((Subject.DEVICE, devices), (Subject.NODE, nodes))
        for evidence in by_family(
            channel,
            Weight.STATISTICAL,
            subject,
            scored.families,
            score=scored.score,
            since=scored.since,
            now=now,
        )
    ]


def by_family(
    channel: Channel,
    weight: Weight,
    subject: Subject,
    families: Mapping[str, Indices],
    *,
    score: Floats,
    since: Floats,
    now: float,
) -> list[Evidence]:
    """Evidence for each family: of a row, its strongest signal. `score` is NaN for nothing to say.

    `score` and `since` are float64[S, R]; families hold indices into the first axis.
    """
    results: list[Evidence] = []
    if np.isnan(score).all():
        return results
    for family, positions in families.items():
        scores = np.where(np.isnan(score[positions]), -np.inf, score[positions])
        rows = np.flatnonzero((scores > -np.inf).any(axis=0))
        if not rows.size:
            continue
        first = scores[:, rows].argmax(axis=0)
        started = since[positions[first], rows]
        of_reader = family_of(family).of_reader
        results.append(
            Evidence(
                channel=channel,
                weight=Weight.CONFIRMING if of_reader else weight,
                family=family,
                subject=subject,
                rows=rows,
                score=scores[first, rows],
                sustained_s=now - started,
                since=started,
                signal=positions[first],
            )
        )
    return results


def of_rows(
    channel: Channel,
    weight: Weight,
    subject: Subject,
    family: str,
    present: Bools,
    *,
    since: Floats,
    now: float,
    score: Floats | float = 8.0,
    signal: int = -1,
    advice: str = "",
    cause: str = "",
) -> list[Evidence]:
    """One condition that holds for some rows: evidence for these, or none. Arrays are [R]."""
    rows = np.flatnonzero(present)
    if not rows.size:
        return []
    scores = np.broadcast_to(np.asarray(score, dtype=np.float64), present.shape)
    started = since[rows]
    return [
        Evidence(
            channel=channel,
            weight=weight,
            family=family,
            subject=subject,
            rows=rows,
            score=scores[rows].copy(),
            sustained_s=now - started,
            since=started,
            signal=np.full(rows.size, signal, dtype=np.intp),
            advice=advice,
            cause=cause,
        )
    ]


def active_since(since: Floats, present: Bools, now: float) -> Floats:
    """When a condition began that holds at present; NaN where it does not hold."""
    return np.where(present, np.where(np.isnan(since), now, since), np.nan)


def job_checksums(frame: Frame) -> Floats:
    """float64[N]: what stands for the job of each device; NaN without one.

    Codes of jobs are reassigned as jobs come and go, and a dump holds numbers only.
    """
    names = frame.names.jobs
    return np.array([float(zlib.crc32(name.encode())) for name in names] + [np.nan])[frame.job]
