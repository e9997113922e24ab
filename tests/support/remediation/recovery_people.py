"""How long it takes without us: a person who looks, and a job begun anew every eleven minutes.

Seconds from the onset of a fault until the run begins that becomes productive; loading comes after that.
"""

import random
from dataclasses import dataclass
from math import log

from support.remediation.recovery_faults import (
    DIES_WITHIN_S,
    FAILS_AGAIN_S,
    MINUTE_S,
    TIME_OUT_S,
    Fault,
)


@dataclass(frozen=True)
class People:
    """What a site without us is like."""

    # Median from a message until somebody looks; lognormal.
    response_s: float = 15 * MINUTE_S
    response_sigma: float = 1.0
    # Median until the node is known and the job is begun without it; lognormal.
    triage_s: float = 28 * MINUTE_S
    triage_sigma: float = 0.7
    # Probability that it was the right node, and that the run becomes productive.
    right: float = 0.8
    every_s: float = 11 * MINUTE_S
    # After so many a person looks.
    attempts: int = 6
    # After which the scheduler itself gives a node up that does not answer.
    down_after_s: float = 300.0


SITE = People()


@dataclass(frozen=True)
class Recovered:
    """One recovery."""

    # From onset until the run begins that becomes productive.
    seconds: float
    # That were begun.
    runs: int


def by_hand(rng: random.Random, people: People = SITE) -> Recovered:
    """From the message: somebody comes, looks, begins the job anew, looks again."""
    at = rng.lognormvariate(log(people.response_s), people.response_sigma)
    runs = 0
    while True:
        runs += 1
        at += rng.lognormvariate(log(people.triage_s), people.triage_sigma)
        if rng.random() < people.right:
            return Recovered(at, runs)
        at += rng.uniform(*FAILS_AGAIN_S)


def noticed(rng: random.Random, fault: Fault) -> float:
    """Seconds until the job itself has ended: at once, or by its own time-out."""
    if rng.random() < fault.dies:
        return rng.uniform(0.0, DIES_WITHIN_S)
    return rng.uniform(*TIME_OUT_S)


def manual(rng: random.Random, fault: Fault, people: People = SITE) -> Recovered:
    """Manual triage: the end of the job is what calls somebody."""
    before = noticed(rng, fault)
    after = by_hand(rng, people)
    return Recovered(before + after.seconds, after.runs)


def fixed(rng: random.Random, fault: Fault, people: People = SITE) -> Recovered:
    """The job is begun anew on the same nodes every so often, and a person looks in the end."""
    at = noticed(rng, fault)
    for runs in range(1, people.attempts + 1):
        at += people.every_s
        gone = not fault.silent or at >= people.down_after_s
        if gone and rng.random() >= fault.again:
            return Recovered(at, runs)
        at += rng.uniform(*FAILS_AGAIN_S) + noticed(rng, fault)
    after = by_hand(rng, people)
    return Recovered(at + after.seconds, people.attempts + after.runs)
