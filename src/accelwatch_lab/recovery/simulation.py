"""Many faults, each recovered by every policy: what came of it. The same seed gives the same numbers."""

import statistics
from collections.abc import Callable, Sequence
from random import Random

import msgspec

from accelwatch_lab.recovery.course import Course, Fault, fault_of
from accelwatch_lab.recovery.detector import Detector
from accelwatch_lab.recovery.policies.fixed import fixed
from accelwatch_lab.recovery.policies.own import own
from accelwatch_lab.recovery.policies.person import manual
from accelwatch_lab.recovery.rates import Rates
from accelwatch_lab.recovery.site import CHAIN_S, Site

MANUAL, FIXED, OWN = "manual", "fixed", "accelwatch"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy came to over all faults; times are seconds to the first productive step."""

    policy: str
    mean_s: float
    median_s: float
    p90_s: float
    # Shares of all faults.
    within_hour: float
    first_try: float
    without_person: float
    # Starts by the policy for each fault that they cured; a person's where it has no other.
    attempts_per_success: float | None
    # Nodes that the policy excluded, not a person: broken ones, and healthy ones.
    right_exclusions: int
    wrong_exclusions: int
    # Nodes excluded for a cause that many share.
    group_exclusions: int


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is simulated."""

    rates: Rates
    site: Site
    detector: Detector
    faults: int
    seed: int

    @property
    def ends_a_day(self) -> float:
        """How often the job ends."""
        return self.rates.per_day(self.site.nodes)

    def chance(self, purpose: str) -> Random:
        """Chance for one purpose: what another draws does not change it."""
        return Random(f"{self.seed}/{purpose}")  # noqa: S311 - a simulation, no secret


def simulate(plan: Plan) -> dict[str, Outcome]:
    """Every policy over the same faults."""
    sampled = sample(plan)
    policies: dict[str, Callable[[Course], None]] = {
        MANUAL: manual,
        FIXED: fixed,
        OWN: lambda course: own(course, plan.detector),
    }
    return {
        name: outcome(name, courses(sampled, plan.site, policy, plan.chance(name)))
        for name, policy in policies.items()
    }


def sample(plan: Plan) -> list[Fault]:
    """Faults by their rates."""
    chance = plan.chance("faults")
    kinds, weights = zip(*plan.rates.weights(), strict=True)
    return [fault_of(kind, chance) for kind in chance.choices(kinds, weights, k=plan.faults)]


def courses(
    faults: Sequence[Fault], site: Site, policy: Callable[[Course], None], chance: Random
) -> list[Course]:
    """The course of each fault under a policy."""
    finished = [Course(fault, site, chance) for fault in faults]
    for course in finished:
        policy(course)
    return finished


def outcome(policy: str, finished: Sequence[Course]) -> Outcome:
    """The summary of many courses."""
    times = sorted(course.now for course in finished)
    cured = sum(course.by_person == (policy == MANUAL) for course in finished)
    attempts = sum(
        start.by_person == (policy == MANUAL) for course in finished for start in course.starts
    )
    return Outcome(
        policy=policy,
        mean_s=statistics.fmean(times),
        median_s=statistics.median(times),
        p90_s=times[min(len(times) - 1, int(0.9 * len(times)))],
        within_hour=_share(finished, lambda course: course.now <= CHAIN_S),
        first_try=_share(finished, lambda course: len(course.starts) == 1),
        without_person=_share(finished, lambda course: not course.by_person),
        attempts_per_success=attempts / cured if cured else None,
        right_exclusions=sum(course.right_exclusions for course in finished),
        wrong_exclusions=sum(course.wrong_exclusions for course in finished),
        group_exclusions=sum(
            course.exclusions for course in finished if course.fault.failure.name == "group"
        ),
    )


def _share(finished: Sequence[Course], condition: Callable[[Course], bool]) -> float:
    return sum(map(condition, finished)) / len(finished)
