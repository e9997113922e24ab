"""The policy of accelwatch: detect, classify, act on the cause, and never retry what has just failed.

A cause that many nodes share is waited for and excludes no node. After six attempts, an hour, three
exclusions or a retry that would not differ from the last, a person is called.
"""

import math
from typing import NamedTuple

from accelwatch_lab.recovery.course import Course
from accelwatch_lab.recovery.detector import Detector
from accelwatch_lab.recovery.failures import REPLAY_CURES, Cure
from accelwatch_lab.recovery.policies.person import triage
from accelwatch_lab.recovery.site import LIGHT_TEST_S, MINUTE_S

# A confirmed fault ends the job within a minute of its alert, with the stacks dumped before.
KILL_S = 60.0
# Before the first, second, ... attempt; the last for all after it, each with a jitter of a fifth.
PACE_S, JITTER = (0.0, 60.0, 120.0, 240.0, 480.0), 0.2
# A person is called after so many attempts, so long, and so many exclusions (three an hour).
ATTEMPTS, STOP_S, EXCLUSIONS = 6, 60 * MINUTE_S, 3
# How often a shared cause is polled, and for how long.
POLL_S, POLLED_S = 60.0, 30 * MINUTE_S


class Step(NamedTuple):
    """What is done before the next start."""

    test_s: float = 0.0
    exclude: bool = False
    # Restart from the checkpoint before the last.
    older: bool = False
    waits: bool = False
    # Nothing is left that would differ from the last start.
    gives_up: bool = False


def own(course: Course, detector: Detector) -> None:
    """Recover by the policy."""
    for attempt in range(ATTEMPTS):
        detected = _detect(course, detector, attempt)
        if attempt and course.now >= STOP_S:
            break
        step = next_step(course, attempt, detected=detected)
        if step.gives_up or not _prepare(course, detector, step):
            break
        course.wait(_pace(course, attempt))
        if course.start(older=step.older, waited=step.waits):
            return
    triage(course)


def _detect(course: Course, detector: Detector, attempt: int) -> bool:
    """Wait until it is seen that the job does not run; whether the detector says why."""
    failure, chance = course.fault.failure, course.chance
    detected = chance.random() < detector.recall[failure.recall].value
    if failure.cure is Cure.WAIT:
        detected = detected and chance.random() < detector.single_group.value
    if detected:
        delay = detector.delays[failure.channel]
        course.wait(delay.median_s * math.exp(delay.sigma * chance.gauss(0.0, 1.0)) + KILL_S)
    elif not attempt:
        # A start that fails ends by itself; a job that runs ends by its time-out.
        course.wait_for_time_out()
    return detected


def next_step(course: Course, attempt: int, *, detected: bool) -> Step:
    """What to do before start number `attempt`, from 0."""
    cure = course.fault.failure.cure
    if cure is Cure.WAIT:
        # Unexplained: a first retry; pair tests then name nobody, as all nodes are alike.
        return Step(waits=True) if detected else Step(LIGHT_TEST_S, gives_up=attempt > 0)
    if not detected and not attempt:
        return Step(LIGHT_TEST_S)
    if cure in (Cure.RETRY, Cure.ROLL_BACK) and not attempt:
        return Step()
    if cure is Cure.ROLL_BACK:
        # Two deaths at one step and no evidence of a device: one checkpoint back, once.
        return Step(older=True, gives_up=attempt > 1)
    if course.exclusions >= EXCLUSIONS:
        return Step(gives_up=True)
    if detected:
        return Step(LIGHT_TEST_S, exclude=True)
    # Halve the nodes by pair tests, all pairs of a round at once.
    return Step(math.ceil(math.log2(max(2, course.site.nodes))) * LIGHT_TEST_S, exclude=True)


def _prepare(course: Course, detector: Detector, step: Step) -> bool:
    """Do it; False where a shared cause does not end in time."""
    course.wait(step.test_s)
    if step.older:
        course.roll_back(REPLAY_CURES)
    if step.exclude:
        course.exclude(detector.right_node.value)
    if step.waits:
        polls = math.ceil(max(0.0, course.fault.ends_s - course.now) / POLL_S)
        course.wait(min(polls * POLL_S, POLLED_S))
        return course.now >= course.fault.ends_s
    return True


def _pace(course: Course, attempt: int) -> float:
    return PACE_S[min(attempt, len(PACE_S) - 1)] * course.chance.uniform(1 - JITTER, 1 + JITTER)
