"""What comes and goes again and again is believed later each time. Pure; monotonic seconds from outside.

An end always counts at once: nobody acts on what is over. A beginning counts at once the first time.
After ends within the last ten minutes it has to last, twice as long each time, up to five minutes. So a
node whose condition flaps reports a handful of changes in ten minutes at most, and what stays bad is
evidence after five minutes at the latest.
"""

import msgspec

# Shorter than the minute in which most detectors look again, so that one false alarm costs little.
FIRST_S = 15.0
# As long as NPD's plug-ins and the kubelet need at most to say the same once more.
LONGEST_S = 300.0
# Quiet for this long: the next beginning counts at once again.
CALM_S = 600.0
# Keys that are remembered; more than one hub has of nodes and conditions that flap at one time.
MOST = 20_000


class _Course(msgspec.Struct, kw_only=True):
    """How one thing has come and gone."""

    ends: int = 0
    last: float = 0.0
    # Since when it is there without having been believed yet.
    there_since: float | None = None


class Damping:
    """Whether what is there may count yet, by key."""

    def __init__(self) -> None:
        self._courses: dict[str, _Course] = {}

    def __len__(self) -> int:
        return len(self._courses)

    @property
    def flapping(self) -> list[str]:
        """Keys of what has gone more than once lately."""
        return [key for key, course in self._courses.items() if course.ends > 1]

    def counts(self, key: str, now: float) -> bool:
        """Whether it counts, being there now."""
        course = self._courses.get(key)
        if course is None:
            return True
        if course.there_since is None:
            course.there_since = now
        wait_s = min(FIRST_S * 2.0 ** (course.ends - 1), LONGEST_S)
        return now - course.there_since >= wait_s

    def times(self, key: str) -> int:
        """How often it has gone lately."""
        course = self._courses.get(key)
        return 0 if course is None else course.ends

    def resolved(self, key: str, now: float) -> None:
        """It has counted, or was waiting to, and is gone."""
        course = self._courses.get(key)
        if course is None:
            if len(self._courses) >= MOST:
                return
            course = self._courses[key] = _Course()
        # Beyond this the wait is the longest anyhow.
        course.ends = min(course.ends + 1, 20)
        course.last, course.there_since = now, None

    def waiting(self) -> list[str]:
        """Keys of what is there and does not count yet."""
        return [key for key, course in self._courses.items() if course.there_since is not None]

    def forget_calm(self, now: float) -> None:
        """Forget what has not gone for long and is not waiting."""
        self._courses = {
            key: course for key, course in self._courses.items() if now - course.last < CALM_S
        }
