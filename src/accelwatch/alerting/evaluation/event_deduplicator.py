"""Which events are new: neither old, nor reported again after a restart of their source.

An event that was judged has a fingerprint, which the journal remembers for twice as long as an event can
be news. An open incident keeps its events: what it rests on is no less true after a restart.
"""

from collections.abc import Callable, Iterator

from accelwatch.schema.event import ErrorEvent

# Older events are not new, even if they are reported for the first time.
MAX_AGE_S = 600.0
REMEMBERED_S = 2 * MAX_AGE_S
# A node estimates its clock again after a restart, so that the same time may differ by this much.
_NEAR_S = 5
MOST_REMEMBERED = 100_000

# Whether an incident of a node and device (empty: of the node) is open.
HasOpen = Callable[[str, str], bool]


class EventDeduplicator:
    """Fingerprints of events by the process before and by this one; the loop's thread only."""

    def __init__(
        self, fingerprints: dict[str, float], has_open: HasOpen, wall: Callable[[], float]
    ) -> None:
        # By the process before this one.
        self._before = dict(fingerprints)
        self._unwritten: dict[str, float] = {}
        self._has_open = has_open
        self._wall = wall

    def is_new(self, node: str, event: ErrorEvent) -> bool:
        """Whether an event is recent and was not judged before; from now on it is known."""
        is_repeated = any(near in self._before for near in _near(node, event))
        if len(self._unwritten) < MOST_REMEMBERED:
            fingerprint = _fingerprint(node, event, round(event.time))
            self._unwritten[fingerprint] = event.time + REMEMBERED_S
        recent = self._wall() - event.time <= MAX_AGE_S
        return (recent and not is_repeated) or self._has_open(node, event.device_id)

    def to_write(self, now: float) -> dict[str, float]:
        """Fingerprints that the journal does not have yet and that are worth remembering."""
        unwritten, self._unwritten = self._unwritten, {}
        return {fingerprint: until for fingerprint, until in unwritten.items() if until > now}


def _near(node: str, event: ErrorEvent) -> Iterator[str]:
    second = round(event.time)
    return (_fingerprint(node, event, second + off) for off in range(-_NEAR_S, _NEAR_S + 1))


def _fingerprint(node: str, event: ErrorEvent, second: int) -> str:
    return "\x1f".join((node, event.device_id, event.code, event.subject, str(second)))
