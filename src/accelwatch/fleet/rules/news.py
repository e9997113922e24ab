"""Which events are news: not those that agents tell again after a hub or they themselves began anew.

An event that was judged has a fingerprint, which the journal remembers for twice as long as an event can
be news. An open incident keeps its events: what it rests on is no less true after a restart.
"""

from collections.abc import Callable, Iterator

from accelwatch.fleet.state.events import Noted

MAX_AGE_S = 600.0
"""What is older was never news to a rule."""
REMEMBERED_S = 2 * MAX_AGE_S
_NEAR_S = 5
"""A node's clock is reckoned anew after a restart, so that the same moment may differ by this much."""
MOST_REMEMBERED = 100_000

HasOpen = Callable[[str, str], bool]
"""Whether an incident of a node and device (empty: of the node) is open."""


class News:
    """Fingerprints of events by the hub before and by this one; the loop's thread only."""

    def __init__(self, seen: dict[str, float], has_open: HasOpen) -> None:
        self._before = dict(seen)
        """By the hub before this one."""
        self._unwritten: dict[str, float] = {}
        self._has_open = has_open

    def is_news(self, noted: Noted) -> bool:
        """Whether an event was not judged by the hub before; from now on it is known."""
        known = any(one in self._before for one in _near(noted))
        if len(self._unwritten) < MOST_REMEMBERED:
            fingerprint = _fingerprint(noted, round(noted.event.time))
            self._unwritten[fingerprint] = noted.event.time + REMEMBERED_S
        return not known or self._has_open(noted.node, noted.event.device_id)

    def to_write(self, now: float) -> dict[str, float]:
        """Fingerprints that the journal does not have yet and that are worth remembering."""
        unwritten, self._unwritten = self._unwritten, {}
        return {one: until for one, until in unwritten.items() if until > now}


def _near(noted: Noted) -> Iterator[str]:
    moment = round(noted.event.time)
    return (_fingerprint(noted, moment + off) for off in range(-_NEAR_S, _NEAR_S + 1))


def _fingerprint(noted: Noted, moment: int) -> str:
    event = noted.event
    return "\x1f".join((noted.node, event.device_id, event.code, event.subject, str(moment)))
