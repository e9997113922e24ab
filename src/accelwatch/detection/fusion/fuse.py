"""From evidence to levels: whom to alert to, whom to watch, and who is well again.

ALERT: decisive evidence; two families that agree; one that is very strong and lasts. WATCH: one family
that is strong, or a confirming channel for long. Within a family only the strongest counts, since its
signals move together.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from accelwatch.detection.arrays import Bools, Codes, Floats, Indices
from accelwatch.detection.evidence import Evidence, Subject
from accelwatch.detection.frame import DeviceState
from accelwatch.detection.fusion import budget as budgets
from accelwatch.detection.fusion import row_levels
from accelwatch.detection.fusion.families import FAMILIES
from accelwatch.detection.fusion.row_levels import ALERTED, NONE, WATCHED, Rise, RowLevels
from accelwatch.detection.fusion.strength import (
    AGREE,
    ALONE,
    WATCH,
    Strength,
    causes,
    factors,
    strength,
    with_most_devices,
)
from accelwatch.detection.tick import Tick

# Intervals without a sample after which a row has no evidence any more.
SILENT_INTERVALS = 3


class FusionState(NamedTuple):
    """What is kept between ticks."""

    devices: RowLevels
    nodes: RowLevels
    jobs: RowLevels
    # Whose the rows of `jobs` are: codes of jobs change as jobs come and go.
    job_names: tuple[str, ...]
    budget: budgets.Budget


class Prior(NamedTuple):
    """Factors of thresholds by the past of devices, float64[N], and nodes, float64[M]: 0.8 to 1."""

    devices: Floats
    nodes: Floats


class _State(NamedTuple):
    """bool[R]: rows that are not to be accused; rows of which nothing is known now."""

    muted: Bools
    paused: Bools


class Conclusions(NamedTuple):
    """R rows of one subject, F families."""

    # int16[R]: of `row_levels`.
    level: Codes
    # float64[R]: the greatest score of any family.
    score: Floats
    # intp[R]: the index of the family that has it; -1 where there is no evidence.
    family: Indices
    # bool[F, R]: the families that are part of the reason.
    agreeing: Bools
    # bool[R]: something is decisive.
    decisive: Bools
    # float64[R]: the earliest beginning among the families that agree, Unix seconds; infinity for none.
    onset: Floats


class Fused(NamedTuple):
    """Conclusions of a tick by subject."""

    devices: Conclusions
    nodes: Conclusions
    jobs: Conclusions


def fresh(now: float) -> FusionState:
    """The state before the first tick."""
    none = row_levels.empty(0)
    return FusionState(none, none, none, (), budgets.fresh(now))


def fuse(
    state: FusionState,
    tick: Tick,
    evidence: Sequence[Evidence],
    prior: Prior | None = None,
    grouped: Bools | None = None,
) -> tuple[FusionState, Fused]:
    """One tick: the state after it, and what is concluded of every device, node and job.

    `grouped` is bool[M]: nodes of which a finding of a group says why they suffer.
    """
    frame = tick.frame
    raised = state.budget.factor
    if prior is None:
        prior = Prior(np.ones(len(frame.node_of)), np.ones(len(frame.node_state)))
    of_jobs = strength(
        frame, evidence, Subject.JOB, factors(raised, np.ones(len(frame.names.jobs)))
    )
    of_nodes = strength(frame, evidence, Subject.NODE, factors(raised, prior.nodes))
    of_devices = strength(frame, evidence, Subject.DEVICE, factors(raised, prior.devices))
    of_nodes = with_most_devices(of_nodes, of_devices, frame.node_of)
    # A fault of a device is confirmed by what its host suffers.
    helping = (of_nodes.agrees | of_nodes.confirms)[:, frame.node_of]
    # Nobody is woken for what is being worked on, and its ups and downs are no false alarms. Devices
    # that sleep, are in others' hands or not there at all would keep their levels for ever.
    muted = frame.maintenance
    away = frame.device_state == DeviceState.AWAY

    silent_s = SILENT_INTERVALS * frame.interval_s
    unread = frame.now - frame.node_sampled > silent_s
    if tick.repeated is not None:
        unread |= tick.repeated
    devices, false_devices, concluded_devices = _subject(
        row_levels.resized(state.devices, frame.device_generation),
        of_devices,
        helping,
        _State(
            muted[frame.node_of] | away,
            tick.devices.on_hold
            | (frame.now - frame.device_sampled > silent_s)
            | unread[frame.node_of],
        ),
        frame.now,
    )
    nodes, false_nodes, concluded_nodes = _subject(
        row_levels.resized(state.nodes, frame.node_generation),
        of_nodes,
        np.zeros_like(of_nodes.agrees),
        _State(muted, tick.nodes.on_hold | unread),
        frame.now,
    )
    never = np.zeros(len(frame.names.jobs), dtype=np.bool_)
    jobs, _, concluded_jobs = _subject(
        _renamed(state, frame.names.jobs),
        of_jobs,
        np.zeros_like(of_jobs.agrees),
        _State(never, never),
        frame.now,
    )
    # What many suffered in for some minutes was no false alarm of any of them. All devices of a node
    # that is wrongly accused are one false alarm, as a person counts them.
    if grouped is not None:
        false_devices = np.where(grouped[frame.node_of], -1, false_devices)
        false_nodes = np.where(grouped, -1, false_nodes)
    families = np.unique(np.concatenate((false_devices, false_nodes)))
    false = np.zeros(len(FAMILIES), dtype=np.intp)
    false[families[families >= 0]] = 1
    budget = budgets.adjusted(state.budget, frame.now, false)
    after = FusionState(devices, nodes, jobs, frame.names.jobs, budget)
    return after, Fused(concluded_devices, concluded_nodes, concluded_jobs)


def _subject(
    before: RowLevels, combined: Strength, helping: Bools, state: _State, now: float
) -> tuple[RowLevels, Indices, Conclusions]:
    rise = _rise(combined, helping)
    rise = rise._replace(level=np.where(state.muted, NONE, rise.level).astype(np.int16))
    after, false = row_levels.risen(
        row_levels.forgotten(before, state.muted), rise, state.paused, now
    )
    agreeing = combined.agrees | combined.alone | combined.watched | combined.confirms
    onset: Floats = np.where(agreeing, combined.since, np.inf).min(axis=0, initial=np.inf)
    has_score = combined.score.max(axis=0, initial=0.0) > 0
    # A family that is decisive goes before one that is only strong.
    weighed = combined.score + np.where(combined.decisive, 1e3, 0.0)
    family = np.where(has_score, weighed.argmax(axis=0), -1)
    return (
        after,
        false,
        Conclusions(after.level, rise.score, family, agreeing, rise.decisive, onset),
    )


def _rise(combined: Strength, helping: Bools) -> Rise:
    """The level that this tick's evidence calls for."""
    own: Bools = np.logical_or.reduce(combined.agrees, axis=0)
    families = causes(combined.agrees | combined.confirms | helping)
    decisive: Bools = np.logical_or.reduce(combined.decisive, axis=0)
    together: Bools = own & (families >= 2)
    alone = combined.alone.any(axis=0)
    watched = combined.watched.any(axis=0)
    level = np.where(decisive | together | alone, ALERTED, np.where(watched, WATCHED, NONE))

    # Half of the threshold that was passed; of several the lowest, which was passed first.
    factor = combined.factor.min(axis=0, initial=np.inf, where=combined.score > 0)
    factor = np.where(np.isfinite(factor), factor, 1.0)
    threshold = np.where(decisive | together, AGREE, np.where(alone, ALONE, WATCH))
    only = alone & ~together & ~decisive
    return Rise(
        level.astype(np.int16),
        threshold * factor / 2,
        combined.score.max(axis=0, initial=0.0),
        decisive,
        np.where(only, combined.alone.argmax(axis=0), -1),
        decisive | together,
    )


def _renamed(state: FusionState, names: tuple[str, ...]) -> RowLevels:
    """The levels of jobs by their codes of now."""
    if names == state.job_names:
        return state.jobs
    old = {name: row for row, name in enumerate(state.job_names)}
    kept = [row for row, name in enumerate(names) if name in old]
    positions = [old[names[row]] for row in kept]
    after = row_levels.empty(len(names))
    row_levels.copy(
        state.jobs, np.array(positions, dtype=np.intp), after, np.array(kept, dtype=np.intp)
    )
    return after
