"""One fault and the course of its recovery: a clock, starts of the job, excluded nodes."""

import math
from random import Random
from typing import NamedTuple

from accelwatch_lab.recovery.failures import Cure, Failure
from accelwatch_lab.recovery.site import EARLY_DEATHS, EARLY_S, START_S, TIME_OUT_S, Site


class Fault(NamedTuple):
    """One that happened."""

    failure: Failure
    # A restart on the same nodes does not cure it.
    lasts: bool
    # When it ends by itself, seconds after its onset; infinite for most.
    ends_s: float


class Start(NamedTuple):
    """One start of the job."""

    # Seconds after the onset.
    at_s: float
    # Nodes that are out by then.
    excluded: int
    # Whether it is from an older checkpoint than the start before.
    older: bool
    # Whether a cause that many share was seen to be over before it.
    waited: bool
    # Whether a person made it.
    by_person: bool


def fault_of(failure: Failure, chance: Random) -> Fault:
    """A fault of this kind, as it happens to be."""
    lasts = chance.random() >= failure.restart_cures
    ends_s = math.inf
    if failure.ends_after_s is not None:
        low, high = failure.ends_after_s
        ends_s = math.exp(chance.uniform(math.log(low), math.log(high)))
    return Fault(failure, lasts, ends_s)


class Course:
    """From the onset of a fault to the first productive step after it."""

    def __init__(self, fault: Fault, site: Site, chance: Random) -> None:
        self.fault, self.site, self.chance = fault, site, chance
        # Seconds after the onset.
        self.now = 0.0
        self.starts: list[Start] = []
        # Nodes that the policy excluded, not a person.
        self.right_exclusions = self.wrong_exclusions = 0
        # Whether its cause was removed: the culprit excluded, the code rolled back.
        self.cured = False
        # Whether a person had to come.
        self.by_person = False

    @property
    def exclusions(self) -> int:
        """Nodes that the policy excluded."""
        return self.right_exclusions + self.wrong_exclusions

    @property
    def has_culprit(self) -> bool:
        """Whether a node is to blame at all."""
        return self.fault.failure.is_hardware

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds

    def wait_for_time_out(self) -> None:
        """Until a collective gives up, which is how a job without detection ends."""
        self.wait(self.chance.uniform(*TIME_OUT_S))

    def exclude(self, right_share: float) -> None:
        """Exclude the suspect; without a culprit that is never right."""
        right = self.has_culprit and self.chance.random() < right_share
        self.cured = self.cured or right
        if not self.by_person:
            self.right_exclusions += right
            self.wrong_exclusions += not right

    def roll_back(self, share: float) -> None:
        """Older code, data or checkpoint, which is right in this share where that is the cause."""
        if self.fault.failure.cure is Cure.ROLL_BACK and self.chance.random() < share:
            self.cured = True

    def start(self, *, older: bool = False, waited: bool = False) -> bool:
        """Start the job; whether it came to its first productive step. The clock is after that."""
        self.starts.append(Start(self.now, self.exclusions, older, waited, self.by_person))
        self.wait(START_S)
        if self._is_over():
            self.wait(self.site.load_s)
            return True
        self.wait(self._death_s())
        return False

    def _is_over(self) -> bool:
        fault = self.fault
        if fault.failure.cure is Cure.WAIT:
            return self.now >= fault.ends_s
        return self.cured or not fault.lasts or self.now >= fault.ends_s

    def _death_s(self) -> float:
        """How long a start lives that fails. When the rest die is not published: while they load."""
        if self.chance.random() < EARLY_DEATHS:
            return self.chance.uniform(0.0, EARLY_S)
        return self.chance.uniform(EARLY_S, max(EARLY_S, self.site.load_s))
