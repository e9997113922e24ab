"""Who runs where and when: one large training, many small jobs, services, or all of them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from healthy_fleets.machines import (
    BOARD,
    BRIDGED,
    DEVICES,
    NARROW,
    PLAIN,
    UNBRIDGED,
    Machine,
)
from healthy_fleets.work import NOTEBOOK, ROLLOUT, SEARCH, SERVE, TRAIN, Work, drawn

NODES = 63
KINDS = ("training", "research", "inference", "mixed")
_DAY_S = 86_400.0
# Shares of training, search, reinforcement learning and notebooks, on one device and on several.
_MIX = {False: [0.5, 0.25, 0.05, 0.2], True: [0.5, 0.2, 0.1, 0.2]}


class Job(NamedTuple):
    """One job; `start` and `end` are seconds of the archive."""

    id: str
    user: str
    nodes: tuple[int, ...]
    # Of each node.
    devices: tuple[int, ...]
    start: float
    end: float
    work: Work
    # Whether its program ends with an error of its own.
    crashes: bool


def machines(kind: str) -> list[Machine]:
    """The nodes of a kind of fleet."""
    if kind == "training":
        return [BOARD] * NODES
    if kind == "research":
        return [BOARD] * 24 + [BRIDGED] * 10 + [UNBRIDGED] * 10 + [PLAIN] * 14 + [NARROW] * 5
    if kind == "inference":
        return [BOARD] * 36 + [PLAIN] * 27
    return [BOARD] * 40 + [BRIDGED] * 6 + [UNBRIDGED] * 5 + [PLAIN] * 12


def jobs(kind: str, seconds: float, rng: np.random.Generator) -> list[Job]:
    """All jobs of a fleet, in order of their start."""
    there = machines(kind)
    everybody = range(NODES)
    made: list[Job] = []
    if kind == "training":
        made += _training(everybody[:60], seconds, rng)
    elif kind == "research":
        made += _research(everybody, there, seconds, rng)
    elif kind == "inference":
        made += _services(everybody, there, seconds, rng)
    else:
        made += _training(everybody[:20], seconds, rng)
        made += _services([*everybody[20:28], *everybody[55:]], there, seconds, rng)
        made += _research([*everybody[28:52]], there, seconds, rng)
    made.sort(key=lambda one: one.start)
    return [one._replace(id=str(1000 + at)) for at, one in enumerate(made)]


def _training(nodes: Sequence[int], seconds: float, rng: np.random.Generator) -> Iterator[Job]:
    """Sessions of one job one after the other, three a day; some end by an error of the program."""
    at = float(rng.uniform(0, 600))
    while at < seconds:
        end = at + float(rng.uniform(4, 11)) * 3600
        work = drawn(rng, TRAIN, len(nodes) * DEVICES, linked=True)
        whole = tuple(range(DEVICES))
        yield Job("", "amy", tuple(nodes), whole, at, end, work, bool(rng.random() < 0.15))
        at = end + float(rng.uniform(300, 1500))


def _research(
    nodes: Sequence[int], there: Sequence[Machine], seconds: float, rng: np.random.Generator
) -> Iterator[Job]:
    """Jobs of several nodes on some, and each other node cut into parts with one job after another."""
    boards = [node for node in nodes if there[node] is BOARD][: len(nodes) // 4]
    for first in range(0, len(boards) - 3, 4):
        yield from _on_part(boards[first : first + 4], range(DEVICES), BOARD, seconds, rng)
    shared = set(boards[: len(boards) // 4 * 4])
    for node in nodes:
        if node in shared:
            continue
        left = list(range(DEVICES))
        while left:
            size = min(int(rng.choice([1, 1, 1, 1, 2, 4, 8])), len(left))
            part, left = tuple(left[:size]), left[size:]
            yield from _on_part([node], part, there[node], seconds, rng)


def _on_part(
    nodes: Sequence[int],
    part: Sequence[int],
    machine: Machine,
    seconds: float,
    rng: np.random.Generator,
) -> Iterator[Job]:
    at = float(rng.exponential(3600.0))
    linked = bool(np.nan_to_num(np.array(machine.links)[list(part)]).min() > 0)
    while at < seconds:
        lasts = float(np.clip(rng.lognormal(np.log(5400.0), 1.2), 120.0, 3 * _DAY_S))
        kinds = [TRAIN, SEARCH, ROLLOUT, NOTEBOOK]
        kind = str(rng.choice(kinds, p=_MIX[len(nodes) * len(part) > 1]))
        work = drawn(rng, kind, len(nodes) * len(part), linked)
        user = f"user{int(rng.integers(40))}"
        yield Job(
            "", user, tuple(nodes), tuple(part), at, at + lasts, work, bool(rng.random() < 0.03)
        )
        at += lasts + float(rng.exponential(1800.0 if rng.random() < 0.8 else 6 * 3600.0))


def _services(
    nodes: Sequence[int], there: Sequence[Machine], seconds: float, rng: np.random.Generator
) -> Iterator[Job]:
    """Each part serves a model for days; what is rolled out anew starts again."""
    for node in nodes:
        size = int(rng.choice([1, 2, 4, 8]))
        linked = bool(np.nan_to_num(np.array(there[node].links)).min() > 0)
        for first in range(0, DEVICES, size):
            at, part = float(rng.uniform(0, 1200)), tuple(range(first, first + size))
            while at < seconds:
                lasts = float(rng.exponential(3 * _DAY_S)) + 3600.0
                work = drawn(rng, SERVE, size, linked)
                yield Job("", "serving", (node,), part, at, at + lasts, work, crashes=False)
                at += lasts + float(rng.uniform(30, 300))
