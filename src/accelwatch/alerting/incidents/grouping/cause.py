"""One cause: its incidents, and which of them leads; of a storm a cause has thousands."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from accelwatch.alerting.incidents.model.incident import Incident

# Incidents that are processed in one step.
AT_ONCE = 256


@dataclass(eq=False)
class Cause:
    """Incidents that are one."""

    # The first has the smallest.
    number: int
    # Id of the incident that people should read.
    leader: str
    # Nodes that it is on; of a job whose culprit is not known all that it runs on.
    nodes: set[str]
    jobs: set[str]
    device: str
    level: str
    # When anything was added last, Unix seconds.
    grew: float
    # Its incidents that are open, by id.
    open_: dict[str, Incident] = field(default_factory=dict)
    # Whom each of them was said to follow; who leads is not in it.
    follows: dict[str, str] = field(default_factory=dict)
    closed: float | None = None
    group: bool = False
    # Families in which its nodes suffer together, or did.
    shared: set[str] = field(default_factory=set)
    # Whether its location is known.
    located: bool = True


class Leading:
    """Of every cause the most severe of its open incidents leads; of equals the one that does.

    What one more costs does not grow with how many there are: whether another one has to lead is looked
    at once for all that has changed.
    """

    def __init__(self) -> None:
        self._moves: dict[str, str] = {}
        # Those in which another incident may have to lead.
        self._unsettled: dict[Cause, None] = {}

    def update_incident(self, cause: Cause, incident: Incident) -> None:
        """Have an open incident in a cause as it stands."""
        cause.open_[incident.id] = incident
        leader = cause.open_.get(cause.leader)
        rises = leader is not None and incident.severity.weight > leader.severity.weight
        if leader is None or leader is incident or rises:
            self._unsettled[cause] = None
        else:
            self._follow(cause, incident.id)

    def leave(self, cause: Cause, incident: Incident) -> None:
        """An incident of a cause is over."""
        cause.open_.pop(incident.id, None)
        cause.follows.pop(incident.id, None)
        if not cause.open_:
            cause.closed = incident.closed
        elif incident.id == cause.leader:
            self._unsettled[cause] = None

    def settle(self) -> Iterator[None]:
        """See who leads, in steps."""
        while self._unsettled:
            cause, _ = self._unsettled.popitem()
            best = cause.open_.get(cause.leader)
            for count, incident in enumerate(tuple(cause.open_.values())):
                if best is None or incident.severity.weight > best.severity.weight:
                    best = incident
                if count % AT_ONCE == AT_ONCE - 1:
                    yield
            if best is None:
                continue
            cause.leader = best.id
            for count, id_ in enumerate(tuple(cause.open_)):
                self._follow(cause, id_)
                if count % AT_ONCE == AT_ONCE - 1:
                    yield
            yield

    def _follow(self, cause: Cause, id_: str) -> None:
        follows = "" if id_ == cause.leader else cause.leader
        if cause.follows.get(id_, "") != follows:
            self._moves[id_] = cause.follows[id_] = follows

    def drain_moves(self) -> dict[str, str]:
        """By id of those that follow another incident than before, whom; empty: it leads itself."""
        moves, self._moves = self._moves, {}
        return moves
