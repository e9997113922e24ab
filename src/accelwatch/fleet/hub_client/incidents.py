"""The incidents of a hub's stream, in their latest state, and the state of its rules."""

from collections.abc import Sequence

from accelwatch.alerting.incidents.model.incident import IncidentState
from accelwatch.fleet.wire import MOST_CLOSED, MOST_OPEN, IncidentNow, RulesNow

# Open incidents that are kept: a hub sends MOST_OPEN, and others instead when some get worse.
_MOST_KEPT = 2 * MOST_OPEN


class ReportedIncidents:
    """Mutable; what was shown does not change any more."""

    def __init__(self) -> None:
        # None until the hub has sent it on this connection.
        self.rules: RulesNow | None = None
        self._before: dict[str, IncidentNow] = {}
        self._by_id: dict[str, IncidentNow] = {}
        self._shown: Sequence[IncidentNow] | None = ()

    def reset(self) -> None:
        """Another connection: what the hub does not send again is over."""
        self.rules = None

    def apply(self, message: RulesNow | IncidentNow) -> None:
        """One more message."""
        if isinstance(message, IncidentNow):
            id_ = message.incident.id
            before = self._before.get(id_)
            self._by_id[id_] = before if before == message else message
        else:
            self.rules = message
            if message.is_reset:
                self._before, self._by_id = self._by_id or self._before, {}
        self._shown = None

    def shown(self) -> Sequence[IncidentNow]:
        """The open incidents, and the latest of the closed ones."""
        if self.rules is None:
            return ()
        if self._shown is None:
            self._forget()
            self._before = {}
            self._shown = tuple(self._by_id.values())
        return self._shown

    def _forget(self) -> None:
        over = [entry.incident for entry in self._by_id.values() if _over(entry)]
        over.sort(key=lambda incident: incident.closed or "")
        for incident in over[: len(over) - MOST_CLOSED]:
            del self._by_id[incident.id]
        is_open = [id_ for id_, entry in self._by_id.items() if not _over(entry)]
        for id_ in is_open[: max(len(is_open) - _MOST_KEPT, 0)]:
            del self._by_id[id_]


def _over(entry: IncidentNow) -> bool:
    return entry.incident.state == IncidentState.CLOSED
