"""What the first passes remember between ticks: arrays whose last axis is rows, or groups."""

from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from accelwatch.detection.arrays import Bools, Codes, Floats, Indices
from accelwatch.detection.baselines.repeats import RepeatState, fresh
from accelwatch.detection.frame import Frame
from accelwatch.detection.signals.layout import DEVICE_LAYOUT, NODE_LAYOUT, Layout

# What is remembered of each series in 32 bits: differences and durations, no counters and no times.
Singles = npt.NDArray[np.float32]

# Own offsets are kept for each of these: idle, light, busy.
COARSE_PHASES = 3


class RowMemory(NamedTuple):
    """Of each row; C counters, P phase signals, L signals by slot, H temperatures, S signals. Written in
    place.
    """

    # float64[C, R]: a counter as last read, when that was, and when it last had another value.
    raw: Floats
    read_at: Floats
    changed_at: Floats
    # float32[C, R]: seconds between its last two changes if samples without one lay between, else 0;
    # how often it is refreshed if slower than it is read, else 0; its rate.
    pause_s: Singles
    refresh_s: Singles
    rate: Singles
    # float32[P, R]: level and variance over ten minutes; float32[R]: seconds of it.
    recent: Singles
    variance: Singles
    watched_s: Singles
    # float32[3, S, R], by coarse phase: own offset from the group's median, own level.
    offset: Singles
    usual: Singles
    # float32[3, R]: seconds learned in each phase, and those of them beside peers.
    learned_s: Singles
    compared_s: Singles
    # float32[3, R]: seconds learned beside the peers of now.
    joined_s: Singles
    # float32[S, R]: own mean deviation from `usual`.
    spread: Singles
    # float32[L, R]: the greatest value ever read.
    best: Singles
    # float32[H, R]: degrees over a minute and over half an hour; float32[R]: seconds of it.
    warmth: Singles
    warmth_before: Singles
    warmth_s: Singles

    @classmethod
    def empty(cls, layout: Layout, rows: int) -> Self:
        """Of rows of which nothing is known."""
        counters, signals = len(layout.counters), layout.signals
        phases = len(layout.phases)
        return cls(
            raw=np.full((counters, rows), np.nan),
            read_at=np.full((counters, rows), np.nan),
            changed_at=np.full((counters, rows), np.nan),
            pause_s=_zeros(counters, rows),
            refresh_s=_zeros(counters, rows),
            rate=_unknown(counters, rows),
            recent=_unknown(phases, rows),
            variance=_zeros(phases, rows),
            watched_s=_zeros(rows),
            offset=_zeros(COARSE_PHASES, signals, rows),
            usual=_unknown(COARSE_PHASES, signals, rows),
            learned_s=_zeros(COARSE_PHASES, rows),
            compared_s=_zeros(COARSE_PHASES, rows),
            joined_s=_zeros(COARSE_PHASES, rows),
            spread=_unknown(signals, rows),
            best=_unknown(len(layout.by_slot), rows),
            warmth=_unknown(len(layout.heat), rows),
            warmth_before=_unknown(len(layout.heat), rows),
            warmth_s=_zeros(rows),
        )

    def arrays(self) -> tuple[Floats | Singles, ...]:
        """All of them, in their order."""
        return tuple(self)


class GroupMemory(NamedTuple):
    """Of each group; P phase signals, S signals, G groups. Written in place."""

    # float64[G]: Unix seconds until which numeric channels are on hold.
    hold_until: Floats
    # int16[G]: coarse phase.
    phase: Codes
    # float64[S, G]: median absolute deviation from median and own offset, over an hour.
    deviation: Floats
    # float64[P, G]: the median over ten minutes, and its variance.
    level: Floats
    variance: Floats

    @classmethod
    def empty(cls, layout: Layout, groups: int) -> Self:
        """Of groups that were not there before."""
        phases = len(layout.phases)
        return cls(
            np.full(groups, np.nan),
            np.zeros(groups, dtype=np.int16),
            np.full((layout.signals, groups), np.nan),
            np.full((phases, groups), np.nan),
            np.zeros((phases, groups)),
        )

    def arrays(self) -> tuple[Floats | Codes, ...]:
        """All of them, in their order."""
        return tuple(self)


# A group by its names, since codes are reassigned when names change: job, stage, models.
GroupKey = tuple[str, str, str]


@dataclass(slots=True)
class LevelState:
    """Devices, or nodes."""

    layout: Layout
    generation: Indices
    rows: RowMemory
    keys: tuple[GroupKey, ...] = ()
    # Code of each row's group at the tick before; -1 for rows that were not there.
    code: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    groups: GroupMemory = field(init=False)

    def __post_init__(self) -> None:
        self.groups = GroupMemory.empty(self.layout, len(self.keys))

    @classmethod
    def empty(cls, layout: Layout) -> Self:
        """Without rows."""
        return cls(layout, np.zeros(0, dtype=np.intp), RowMemory.empty(layout, 0))

    def fit(self, generation: Indices) -> None:
        """Have as many rows as there are now, and forget those that are another's."""
        rows, common = len(generation), min(len(generation), len(self.generation))
        kept = np.zeros(rows, dtype=np.bool_)
        kept[:common] = generation[:common] == self.generation[:common]
        if rows == len(self.generation) and kept.all():
            return
        at = np.flatnonzero(kept)
        fresh = RowMemory.empty(self.layout, rows)
        for new, old in zip(fresh.arrays(), self.rows.arrays(), strict=True):
            new[..., at] = old[..., at]
        code = np.full(rows, -1, dtype=np.intp)
        code[at] = self.code[at]
        self.rows, self.code, self.generation = fresh, code, generation.copy()

    def regroup(self, keys: tuple[GroupKey, ...], code: Indices) -> Bools:
        """Have these groups with these members; bool[rows]: whose group is another than before.

        Groups that were there before keep what is known of them.
        """
        positions = {key: position for position, key in enumerate(keys)}
        # The last is for rows that were in none.
        now_at = np.array([*(positions.get(key, -1) for key in self.keys), -1], dtype=np.intp)
        changed: Bools = now_at[np.where(self.code < 0, len(self.keys), self.code)] != code
        if keys != self.keys:
            fresh = GroupMemory.empty(self.layout, len(keys))
            stays = np.flatnonzero(now_at[:-1] >= 0)
            for new, before in zip(fresh.arrays(), self.groups.arrays(), strict=True):
                new[..., now_at[stays]] = before[..., stays]
            self.keys, self.groups = keys, fresh
        self.code = code
        return changed

    def bytes(self) -> int:
        """Bytes of all arrays of rows; groups have as much as some rows."""
        return (
            self.generation.nbytes
            + self.code.nbytes
            + sum(each.nbytes for each in self.rows.arrays())
        )


@dataclass(slots=True)
class StageState:
    """Stages that nobody states and that the nodes of a job show; M nodes."""

    # intp[M]: the stage, for as long as the job runs, -1 for none; what was last proposed.
    stage: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    proposed: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    # intp[M]: how often in a row that was proposed to the whole job.
    times: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    # Job of each node for which that holds.
    job: tuple[str, ...] = ()
    # Unix seconds.
    next_at: float = float("-inf")
    # bool[N]: a device that works, by its own recent load.
    working: Bools = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))


@dataclass(slots=True)
class DetectorState:
    """All of it."""

    devices: LevelState = field(default_factory=lambda: LevelState.empty(DEVICE_LAYOUT))
    nodes: LevelState = field(default_factory=lambda: LevelState.empty(NODE_LAYOUT))
    stages: StageState = field(default_factory=StageState)
    repeats: RepeatState = field(default_factory=fresh)
    # Unix seconds of the tick before.
    now: float = float("nan")

    def fit(self, frame: Frame) -> None:
        """Have the rows of a frame."""
        self.devices.fit(frame.device_generation)
        self.nodes.fit(frame.node_generation)

    def bytes(self) -> int:
        """Bytes that grow with rows."""
        return self.devices.bytes() + self.nodes.bytes()


def _unknown(*shape: int) -> Singles:
    return np.full(shape, np.nan, dtype=np.float32)


def _zeros(*shape: int) -> Singles:
    return np.zeros(shape, dtype=np.float32)
