"""When which fault comes: as many as published, in bursts, more on a few bad nodes (design 5.1)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from traces.character import Array, Character, Settings
from traces.classes import APP, GROUP_CLASSES, OTHER_CLASSES, XID_CLASSES, FaultClass

_TRACE_DAYS, _TRACE_NODES = 55.0, 63.0
_PUBLISHED_GROUPS = sum(one.weight for one in GROUP_CLASSES)


class Arrival(NamedTuple):
    """A fault that is to come; `second` is the earliest, and `node` None any by its weight."""

    second: float
    kind: FaultClass
    node: int | None = None


def arrivals(rng: np.random.Generator, character: Character, settings: Settings) -> list[Arrival]:
    """All of a trace, in order of time."""
    share = settings.fault_rate * settings.days / _TRACE_DAYS * settings.nodes / _TRACE_NODES
    # 5.1: 17-21 a trace; of them XID-class as drawn. SDC leaves nothing and is over and above.
    count = rng.poisson(rng.uniform(17, 21) * share)
    with_xid = rng.binomial(count, character.xid_share)
    kinds = [
        *_of(rng, XID_CLASSES, with_xid),
        *_of(rng, OTHER_CLASSES, count - with_xid),
        *_of(rng, GROUP_CLASSES, rng.poisson(share * settings.group_rate * _PUBLISHED_GROUPS)),
        *_of(rng, (APP,), rng.poisson(share * rng.uniform(5, 20))),  # 5.1: 5-20 a trace
    ]
    times = _times(rng, len(kinds), character.burstiness, settings)
    order = rng.permutation(len(kinds))
    return sorted(
        (Arrival(float(at), kinds[place]) for at, place in zip(times, order, strict=True)),
        key=lambda arrival: arrival.second,
    )


def _of(rng: np.random.Generator, classes: Sequence[FaultClass], count: int) -> list[FaultClass]:
    weights = np.array([one.weight for one in classes])
    places = rng.choice(len(classes), count, p=weights / weights.sum())
    return [classes[place] for place in places]


def _times(rng: np.random.Generator, count: int, burstiness: float, settings: Settings) -> Array:
    """Starts a day are negative binomial: a gamma by day has the variance that Poisson lacks."""
    days = max(1, int(np.ceil(settings.days)))
    mean = max(count / days, 1e-9)
    weights = (
        rng.gamma(mean / (burstiness - 1.0), 1.0, days) if burstiness > 1.01 else np.ones(days)
    ) + 1e-12
    day = rng.choice(days, count, p=weights / weights.sum())
    return np.minimum((day + rng.random(count)) * 86_400.0, settings.seconds * 0.98)


def node_weights(rng: np.random.Generator, character: Character, nodes: int) -> Array:
    """How likely each node is to fail: the worst 5 % hold the share that was drawn."""
    bad = max(1, round(0.05 * nodes))
    weights = np.full(nodes, (1.0 - character.lemon_share) / max(nodes - bad, 1))
    weights[rng.permutation(nodes)[:bad]] = character.lemon_share / bad
    return weights
