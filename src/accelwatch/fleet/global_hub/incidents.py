"""Incidents of all hubs, as streams send them."""

from collections.abc import Callable, Sequence

import msgspec

from accelwatch.alerting.incidents.model.incident import IncidentState
from accelwatch.alerting.rules.document import Severity
from accelwatch.fleet.api.incidents.incident_frames import NO_RULES, IncidentFrames
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.wire import MOST_CLOSED, MOST_OPEN, IncidentNow, RulesNow

_WEIGHTS = {severity.value: severity.weight for severity in Severity}


class PictureIncidents:
    """Implements `LiveIncidents` over the picture of several hubs."""

    def __init__(self, view: Callable[[], FleetView | None]) -> None:
        self._view = view
        self._frames = IncidentFrames()
        self._source: Sequence[IncidentNow] | None = None
        # By id, with the refresh that brought it.
        self._messages: dict[str, tuple[int, IncidentNow]] = {}
        # A client behind this refresh is sent everything again.
        self._restart_sequence = 0

    async def refresh(self) -> None:
        """Publish what has changed."""
        view = self._view()
        incidents: Sequence[IncidentNow] = () if view is None else view.incidents
        chosen, omitted = _chosen(incidents)
        rules = _with_omitted(view, omitted)
        if self._frames.sequence and incidents is self._source and rules == self._frames.rules:
            return
        sequence = self._frames.sequence + 1
        messages: dict[str, tuple[int, IncidentNow]] = {}
        for entry in chosen:
            before = self._messages.get(entry.incident.id)
            is_same = before is not None and before[1] == entry
            messages[entry.incident.id] = (
                before if before is not None and is_same else (sequence, entry)
            )
        if self._messages.keys() - messages.keys():
            self._restart_sequence = sequence
        self._source, self._messages = incidents, messages
        self._frames.publish(rules, messages.values(), self._restart_sequence)

    async def frames(self, form: str, after: int) -> tuple[Sequence[bytes], int]:
        """What has come after a refresh, in a stream's form, and up to which refresh."""
        return await self._frames.frames(form, after)


def _chosen(incidents: Sequence[IncidentNow]) -> tuple[list[IncidentNow], int]:
    """(the published ones, open ones that are left out): the most severe, and the latest closed."""
    over = [entry for entry in incidents if entry.incident.state == IncidentState.CLOSED]
    going_on = [entry for entry in incidents if entry.incident.state != IncidentState.CLOSED]
    if len(going_on) > MOST_OPEN:
        going_on.sort(key=lambda entry: -_WEIGHTS.get(entry.incident.severity, 0))
    over.sort(key=lambda entry: entry.incident.closed or "")
    omitted = max(len(going_on) - MOST_OPEN, 0)
    return [*going_on[:MOST_OPEN], *over[-MOST_CLOSED:]], omitted


def _with_omitted(view: FleetView | None, omitted: int) -> RulesNow:
    if view is None or view.rules is None:
        return NO_RULES
    return msgspec.structs.replace(view.rules, omitted=view.rules.omitted + omitted)
