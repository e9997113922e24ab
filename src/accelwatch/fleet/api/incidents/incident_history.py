"""`/v1/incidents?since=`: incidents of a time, also those that only the journal still has."""

import asyncio
import contextlib
from collections.abc import Callable

import msgspec

from accelwatch.alerting.evaluation.documents import IncidentsPage
from accelwatch.alerting.evaluation.incident_reader import IncidentReader
from accelwatch.alerting.evaluation.pages import incidents_page
from accelwatch.alerting.incidents.journal.location import JournalLocation
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.base.clock import Clock
from accelwatch.fleet.api.query.events import parse_start
from accelwatch.web.pages.json_page import json_page
from accelwatch.web.pages.page import Headers, Page, Query, check_parameters, limit_of, only, plain

_NOT_KEPT = "no journal is kept here: incidents of before this hub's start are not in this list"


class IncidentHistoryPage:
    """For the hub's event loop; the journal is read on a thread, once at a time."""

    def __init__(
        self,
        reader: Callable[[], IncidentReader | None],
        journal: Callable[[], JournalLocation | None],
        clock: Clock,
    ) -> None:
        """`journal` is where it is written now; None where nothing is kept."""
        self._reader = reader
        self._journal = journal
        self._clock = clock
        # A page reads the journal on a thread. One at a time bounds threads and memory, whatever
        # clients request.
        self._reading = asyncio.Lock()

    async def page(self, query: Query, headers: Headers) -> Page:
        """`IncidentsPage`: open ones and those of since then, the latest change first.

        503 while the journal cannot be read. Raises UsageError.
        """
        from accelwatch.alerting.incidents.journal.errors import JournalError

        check_parameters(query, ("since", "node", "limit"))
        start = parse_start(only(query, "since") or "", self._clock.wall())
        node, limit = only(query, "node"), limit_of(query)
        reader = self._reader()
        if reader is None:
            return json_page(IncidentsPage(evaluated=False), headers)
        try:
            kept = await self._stored(start)
        except JournalError as error:
            return plain(503, str(error), {"Retry-After": "10"})
        # What this process knows is newer than what is written.
        by_id = {incident.id: incident for incident in (*kept, *reader.closed, *reader.open)}
        chosen = [
            incident
            for incident in by_id.values()
            if (incident.is_open or incident.updated >= start)
            and (node is None or node in incident.nodes)
        ]
        chosen.sort(key=lambda incident: incident.updated, reverse=True)
        page = incidents_page(reader, chosen[:limit])
        if self._journal() is None:
            page = msgspec.structs.replace(page, problems=(*page.problems, _NOT_KEPT))
        return json_page(page, headers)

    async def _stored(self, start: float) -> list[Incident]:
        """What the journal has. Raises JournalError."""
        location = self._journal()
        if location is None:
            return []
        from accelwatch.alerting.incidents.journal.opening import read_journal

        def read() -> list[Incident]:
            with contextlib.closing(read_journal(location)) as file:
                return file.changed_since(start)

        async with self._reading:
            return await asyncio.to_thread(read)
