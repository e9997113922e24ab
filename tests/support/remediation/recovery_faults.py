"""What ends the job of a fleet of 63 nodes, how often, and what is seen of it.

The mix of seventeen failures that is published of such a fleet, without the five that only slow a job
down: those end nothing. Ends of the job's own software are as many as those of hardware.
"""

import random
from dataclasses import dataclass

NODES = 63
# Nodes of the job; the others are spares.
WIDTH = 60
MINUTE_S = 60.0
DIES_WITHIN_S = 60.0
# After which the job itself gives up a collective that hangs.
TIME_OUT_S = (10 * MINUTE_S, 30 * MINUTE_S)
# How long a run goes on that begins with what is broken among its nodes.
FAILS_AGAIN_S = (1 * MINUTE_S, 10 * MINUTE_S)


@dataclass(frozen=True)
class Fault:
    """One way in which a job ends before it should."""

    name: str
    # How often, of all.
    weight: int
    # Probability that the job ends within a minute; else it hangs.
    dies: float
    # Probability that a run with the same node among its nodes fails again.
    again: float
    # From onset until the rule fires, the least and the most.
    seen_s: tuple[float, float] = (0.0, 0.0)
    # Whether the node does not answer.
    silent: bool = False
    hardware: bool = True


HARDWARE = (
    Fault("NVLink (XID 145, 149)", 5, dies=0.5, again=0.85, seen_s=(1.0, 2.0)),
    Fault("ECC, contained (XID 94)", 2, dies=1.0, again=0.25, seen_s=(1.0, 2.0)),
    Fault("off the bus (XID 79)", 2, dies=0.5, again=1.0, seen_s=(1.0, 60.0)),
    Fault("GSP time-out (XID 119)", 1, dies=0.0, again=0.9, seen_s=(1.0, 60.0)),
    Fault("node unreachable", 2, dies=0.0, again=0.0, seen_s=(10.0, 20.0), silent=True),
)
SOFTWARE = Fault("the job's own software", 12, dies=0.7, again=0.05, hardware=False)


def drawn(rng: random.Random, faults: tuple[Fault, ...] = (*HARDWARE, SOFTWARE)) -> Fault:
    """One of them, as often as it happens."""
    return rng.choices(faults, [fault.weight for fault in faults])[0]
