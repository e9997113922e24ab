"""What jobs do to their devices, second by second: each kind of work is a few repeating phases.

A phase says how busy a device is, how much of its power range it draws, and what moves over NVLink and
PCIe. Numbers are of public measurements: full utilisation goes with a fifth to all of the power,
generation and evaluation draw less than training, and work on one device moves nothing over NVLink.
"""

from typing import NamedTuple

import numpy as np

Array = np.ndarray


class Load(NamedTuple):
    """Of one job by tick; watts are a share of the range between idle and limit."""

    busy: Array
    share: Array
    # Bytes a second of each device.
    nvlink: Array
    pcie: Array
    # How busy the memory controller is.
    memory: Array


class Work(NamedTuple):
    """How one job works; drawn once."""

    kind: str
    busy: float
    share: float
    nvlink: float
    pcie: float
    memory: float
    load_s: float
    # From one pause or change of phase to the next.
    period_s: float
    pause_s: float


TRAIN, SEARCH, ROLLOUT, NOTEBOOK, SERVE = "train", "search", "rollout", "notebook", "serve"


def drawn(rng: np.random.Generator, kind: str, devices: int, linked: bool) -> Work:
    """A job of a kind on so many devices; `linked` where NVLink joins them."""
    large = devices > 8
    talks = linked and devices > 1
    return Work(
        kind=kind,
        busy=float(rng.uniform(0.97, 1.0) if large or kind == ROLLOUT else rng.uniform(0.5, 1.0)),
        share=float(rng.uniform(0.75, 0.95) if large else rng.uniform(0.1, 0.95)),
        nvlink=float(10 ** rng.uniform(9.0, 11.0)) if talks else 0.0,
        pcie=float(10 ** rng.uniform(4.5, 9.5)),
        memory=float(rng.uniform(0.01, 0.7)),
        load_s=float(rng.uniform(1200, 2400) if large else rng.uniform(20, 600)),
        period_s=float(rng.uniform(7200, 10800) if large else rng.uniform(900, 7200)),
        pause_s=float(rng.uniform(120, 540) if large else rng.uniform(20, 300)),
    )


def load_of(work: Work, age: Array, clock: Array, rng: np.random.Generator) -> Load:
    """What a job does at each age and second of the archive."""
    made = _KINDS[work.kind](work, age, clock, rng)
    loading = age < work.load_s
    return Load(
        np.where(loading, 0.15 * rng.random(len(age)), made.busy),
        np.where(loading, 0.1, made.share),
        np.where(loading, 0.0, made.nvlink),
        np.where(loading, 2e9, made.pcie),
        np.where(loading, 0.05, made.memory),
    )


def _steady(work: Work, age: Array) -> Load:
    ones = np.ones(len(age))
    return Load(
        work.busy * ones,
        work.share * ones,
        work.nvlink * ones,
        work.pcie * ones,
        work.memory * ones,
    )


def _where(there: Array, one: Load, other: Load) -> Load:
    return Load(*(np.where(there, a, b) for a, b in zip(one, other, strict=True)))


def _scaled(load: Load, busy: float, share: float, nvlink: float, pcie: float) -> Load:
    return Load(
        np.minimum(load.busy * busy, 1.0),
        load.share * share,
        load.nvlink * nvlink,
        load.pcie * pcie,
        load.memory,
    )


def _train(work: Work, age: Array, _clock: Array, _rng: np.random.Generator) -> Load:
    """Steps, a checkpoint each period, an evaluation after every third."""
    steps = _steady(work, age)
    at = (age - work.load_s) % work.period_s
    saving = at > work.period_s - work.pause_s
    third = ((age - work.load_s) // work.period_s) % 3 == 2
    evaluates = third & (at < 2.0 * work.pause_s)
    load = _where(evaluates, _scaled(steps, 1.0, 0.8, 0.05, 1.0), steps)
    return _where(saving, _scaled(steps, 0.05, 0.25, 0.0, 1.0), load)


def _search(work: Work, age: Array, _clock: Array, _rng: np.random.Generator) -> Load:
    """Trials one after the other, each with another model: what they draw jumps, nothing is shared."""
    trial = (age // work.period_s).astype(np.int64)
    jump = 0.35 + 0.65 * ((trial * 2654435761 % 1000) / 1000.0)
    steady = _steady(work, age)
    load = Load(steady.busy, steady.share * jump, 0 * age, steady.pcie, steady.memory)
    between = age % work.period_s < work.pause_s / 3
    return _where(between, _scaled(load, 0.02, 0.1, 0.0, 0.1), load)


def _rollout(work: Work, age: Array, _clock: Array, _rng: np.random.Generator) -> Load:
    """Reinforcement learning: generation at full utilisation and half of the power, then an update."""
    steady = _steady(work, age)
    period = work.period_s / 6.0
    generates = age % period < 0.6 * period
    return _where(generates, _scaled(steady, 1.0, 0.5, 0.0, 0.3), steady)


def _notebook(work: Work, age: Array, _clock: Array, rng: np.random.Generator) -> Load:
    """A person who thinks, and runs a cell now and then."""
    blocks = np.repeat(rng.random(len(age) // 10 + 1) < 0.15, 10)[: len(age)]
    steady = _steady(work, age)
    return _where(blocks, steady, _scaled(steady, 0.0, 0.05, 0.0, 0.0))


def _serve(work: Work, age: Array, clock: Array, rng: np.random.Generator) -> Load:
    """Requests of the day and hardly any at night; decoding is busy at little power."""
    hour = clock / 3600.0 % 24.0
    day = np.clip(np.sin((hour - 6.0) / 24.0 * 2 * np.pi) * 0.6 + 0.4, 0.0, 1.0)
    wanted = np.clip(day * rng.uniform(0.7, 1.3, len(age)), 0.0, 1.0)
    steady = _steady(work, age)
    busy = np.where(wanted < 0.05, 0.0, np.minimum(0.2 + 1.2 * wanted, 1.0))
    return Load(
        busy * min(1.0, work.busy + 0.3),
        steady.share * (0.1 + 0.9 * wanted),
        steady.nvlink * wanted,
        steady.pcie * wanted,
        steady.memory * wanted,
    )


_KINDS = {
    TRAIN: _train,
    SEARCH: _search,
    ROLLOUT: _rollout,
    NOTEBOOK: _notebook,
    SERVE: _serve,
}
