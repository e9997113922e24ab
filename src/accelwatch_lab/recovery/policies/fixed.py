"""Retry at a fixed interval on the same nodes, as the published fleet did."""

from accelwatch_lab.recovery.course import Course
from accelwatch_lab.recovery.policies.person import triage

# arXiv:2605.09370v1: about 11 min between attempts, 73 attempts in 12 chains: 6.1 each.
INTERVAL_S, ATTEMPTS = 660.0, 6


def fixed(course: Course) -> None:
    """The job's own time-out ends it; retries follow, and a person where none works."""
    course.wait_for_time_out()
    for _ in range(ATTEMPTS):
        course.wait(INTERVAL_S)
        if course.start():
            return
    triage(course)
