"""One job after the other: when it loads, trains and saves, on which nodes, and how it ended."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from traces.character import Array

# What a job does; HANG waits for a peer, STALL for its storage, DEAD has crashed and not ended.
IDLE, LOAD, TRAIN, SAVE, STALL, HANG, DEAD, SMALL = range(8)


@dataclass
class Session:
    """One attempt of a job; seconds of the trace."""

    number: int
    nodes: tuple[int, ...]
    start: float
    load_end: float
    end: float
    # Begin, end, and whether the storage stalls in it.
    saves: list[tuple[float, float, bool]] = field(default_factory=list)
    # From when on it does nothing more but wait, how, and at what share of its power.
    tail: tuple[float, int, float] | None = None
    # Of each node; None: all, and the large job.
    devices: tuple[int, ...] | None = None

    def training_from(self, second: float, rng: np.random.Generator) -> float | None:
        """The first moment from `second` on at which it has trained for a while; None: not any more."""
        at = max(second, self.load_end + rng.uniform(600.0, 1800.0))
        for begin, end, _ in self.saves:
            if begin - 60.0 <= at < end + 60.0:
                at = end + 61.0
        return at if at < self.end - 600.0 else None

    def next_save(self, second: float) -> int | None:
        """Which save begins after a moment and ends with the job going on."""
        for at, (begin, end, _) in enumerate(self.saves):
            if begin > second and end < self.end - 600.0:
                return at
        return None

    def stop(self, at: float, phase: int, wait: float, power: float) -> None:
        """It does no more work from a moment on and ends a while after."""
        self.tail, self.end = (at, phase, power), at + wait

    def segments(self) -> list[tuple[float, int, float]]:
        """When each phase begins, which, and its factor of power; the last is IDLE."""
        last = self.end if self.tail is None else self.tail[0]
        found = [(self.start, LOAD, 1.0), (self.load_end, TRAIN, 1.0)]
        for begin, end, stalls in self.saves:
            found += [(begin, STALL if stalls else SAVE, 1.0), (end, TRAIN, 1.0)]
        found = [one for one in found if one[0] < last]
        return [*found, *([] if self.tail is None else [self.tail]), (self.end, IDLE, 1.0)]


def session_of(
    rng: np.random.Generator, number: int, nodes: Sequence[int], start: float
) -> Session:
    """A job as it would go without faults."""
    # 5.1: load 33 min, lognormal (its spread an assumption); 3.07 a day.
    load_end = start + float(np.clip(rng.lognormal(np.log(1980.0), 0.25), 900.0, 4800.0))
    session = Session(
        number, tuple(nodes), start, load_end, start + rng.uniform(3.0, 12.0) * 3600.0
    )
    at = load_end
    while True:
        at += rng.uniform(2.2, 2.8) * 3600.0  # 5.1: every 2.5 h
        lasts = rng.uniform(180.0, 540.0)  # 5.1: 3-9 min
        if at + lasts > session.end:
            return session
        session.saves.append((at, at + lasts, False))


class Phases(NamedTuple):
    """What the large job does at each moment, as one list of segments."""

    begin: Array
    phase: Array
    factor: Array
    # Place in the list of sessions; -1 between them.
    session: Array

    def at(self, seconds: Array) -> Array:
        """Number of the segment of each moment."""
        return np.searchsorted(self.begin, seconds, side="right") - 1


def phases_of(sessions: Sequence[Session]) -> Phases:
    """The segments of sessions that follow one another."""
    rows: list[tuple[float, int, float, int]] = [(-1e9, IDLE, 1.0, -1)]
    for place, session in enumerate(sessions):
        *working, (end, _, _) = session.segments()
        rows += [(*one, place) for one in working]
        rows.append((end, IDLE, 1.0, -1))
    begin, phase, factor, owner = zip(*rows, strict=True)
    return Phases(np.array(begin), np.array(phase), np.array(factor), np.array(owner))
