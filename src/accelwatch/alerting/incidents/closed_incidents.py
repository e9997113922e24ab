"""The incidents that were closed lately, as many as are kept in memory."""

from collections.abc import Iterable
from itertools import islice

from accelwatch.alerting.incidents.model.incident import Incident

# The latest.
MOST_CLOSED = 1000


class ClosedIncidents:
    """By id, in the order in which they were last changed."""

    def __init__(self, incidents: Iterable[Incident] = ()) -> None:
        """Of `incidents` those that are not open."""
        self._incidents = {incident.id: incident for incident in incidents if not incident.is_open}

    def update(self, incidents: Iterable[Incident]) -> list[str]:
        """Incidents as they are now; the ids of those that are kept no longer."""
        for incident in incidents:
            self._incidents.pop(incident.id, None)
            if not incident.is_open:
                self._incidents[incident.id] = incident
        dropped = [*islice(self._incidents, max(len(self._incidents) - MOST_CLOSED, 0))]
        for id_ in dropped:
            del self._incidents[id_]
        return dropped

    def get(self, id_: str) -> Incident | None:
        """One of them, by its id."""
        return self._incidents.get(id_)

    @property
    def latest_first(self) -> list[Incident]:
        """All of them."""
        return list(reversed(self._incidents.values()))
