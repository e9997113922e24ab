"""A person's hands: the policy `manual`, and what every other ends with where it does not succeed."""

from accelwatch_lab.recovery.course import Course
from accelwatch_lab.recovery.site import FULL_TEST_S

# How often a person names the right node, or what to roll back, at a try: the lower end of what
# localisation is assumed to reach (70 to 97 %). No published figure is known.
RIGHT = 0.70


def triage(course: Course) -> None:
    """Look for the culprit, test, exclude it, start; again until the job runs."""
    course.by_person = True
    while True:
        # Only the mean is published; of all distributions with it the exponential assumes least.
        course.wait(course.chance.expovariate(1.0 / course.site.triage_s))
        course.wait(FULL_TEST_S)
        if course.has_culprit and not course.cured:
            course.exclude(RIGHT)
        course.roll_back(RIGHT)
        if course.start():
            return


def manual(course: Course) -> None:
    """Nothing detects: the job's own time-out ends it, and a person comes."""
    course.wait_for_time_out()
    triage(course)
