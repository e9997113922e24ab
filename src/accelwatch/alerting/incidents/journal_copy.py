"""A copy of a journal's incidents, silences and states, for a hub while another one writes it."""

from collections.abc import Iterable

from accelwatch.alerting.incidents.closed_incidents import ClosedIncidents
from accelwatch.alerting.incidents.journal.records import (
    IncidentRecord,
    Loaded,
    MaintenanceRecord,
    Record,
    SilenceRecord,
    StateRecord,
)
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.muting import Mute, Muting


class JournalCopy:
    """Mutable, and never written back; for one event loop."""

    def __init__(self) -> None:
        self._open: dict[str, Incident] = {}
        self._closed = ClosedIncidents()
        self._states: dict[tuple[str, str], StateRecord] = {}
        self.muting = Muting()
        # Grows whenever incidents or what mutes them have changed.
        self.version = 0

    def replace(self, loaded: Loaded, now: float) -> None:
        """Replace everything by what was loaded; `now` in Unix seconds."""
        self._open, self._closed = {}, ClosedIncidents()
        self.muting = Muting(loaded.silences, loaded.windows)
        self._states = {(state.kind, state.key): state for state in loaded.states}
        for incident in sorted(loaded.incidents, key=lambda incident: incident.updated):
            self._store(incident)
        self.muting.advance(now)
        self._evaluate_mutes(now)

    def apply(self, records: Iterable[Record], now: float) -> None:
        """What has been written since, in its order; `now` in Unix seconds."""
        is_changed = False
        for record in records:
            is_changed = True
            match record:
                case IncidentRecord(incident):
                    self._store(incident)
                case SilenceRecord(source) | MaintenanceRecord(source):
                    self.muting.set(source)
                case StateRecord(kind, key) if record.is_gone:
                    self._states.pop((kind, key), None)
                case StateRecord(kind, key):
                    self._states[kind, key] = record
        if self.muting.advance(now) or is_changed:
            self._evaluate_mutes(now)

    def _store(self, incident: Incident) -> None:
        self._open.pop(incident.id, None)
        if incident.is_open:
            self._open[incident.id] = incident
        for dropped in self._closed.update((incident,)):
            self.muting.forget(dropped)

    def _evaluate_mutes(self, now: float) -> None:
        members: dict[str, list[Incident]] = {}
        for incident in self._open.values():
            if incident.group:
                members.setdefault(incident.group, []).append(incident)
        # Members before their groups.
        ordered = sorted(self._open.values(), key=lambda incident: bool(incident.entity.group))
        self.muting.evaluate_mutes(ordered, members, now)
        self.version += 1

    def states(self, now: float) -> list[StateRecord]:
        """What remedies and approvals have written that is not over at `now` (Unix seconds)."""
        return [
            state for state in self._states.values() if state.until is None or state.until > now
        ]

    @property
    def open(self) -> list[Incident]:
        """What is going on, in the order in which it was opened."""
        return sorted(self._open.values(), key=lambda incident: incident.opened)

    @property
    def closed(self) -> list[Incident]:
        """What is over, the latest first."""
        return self._closed.latest_first

    def incident(self, id_: str) -> Incident | None:
        """One of them."""
        return self._open.get(id_) or self._closed.get(id_)

    def mute_of(self, incident: Incident) -> Mute | None:
        """Why nobody is notified of an incident; None when people are."""
        return self.muting.mute_of(incident.id)

    def is_covered_by_leader(self, incident: Incident) -> bool:
        """Whether people are notified of what leads its cause instead."""
        return self.muting.is_covered(incident, self._open.get(incident.follows))
