"""/v1/audit: who did what and when, from the hub's journal, newest first."""

import asyncio
import contextlib
from collections.abc import Callable

from accelwatch.alerting.incidents.journal.listing import AuditPage, page_of
from accelwatch.alerting.incidents.journal.location import JournalLocation
from accelwatch.base.clock import Clock
from accelwatch.base.errors import UnmetError, UsageError
from accelwatch.fleet.api.query.events import SINCE, parse_start
from accelwatch.web.pages.json_page import json_page
from accelwatch.web.pages.page import Headers, Page, Query, limit_of, only, plain
from accelwatch.web.pages.routes import CURSOR, LIMIT, Parameter, Route

PATH = "/v1/audit"


class AuditPages:
    """For the hub's event loop; one page is read at a time, on a thread of its own."""

    def __init__(self, journal: Callable[[], JournalLocation | None], clock: Clock) -> None:
        """`journal` is where it is written now; None where nothing is kept."""
        self._journal = journal
        self._clock = clock
        # A page reads the journal on a thread. One at a time bounds threads and memory, whatever
        # clients request.
        self._reading = asyncio.Lock()

    def routes(self) -> tuple[Route, ...]:
        """The routes."""
        return (
            Route(
                "GET",
                PATH,
                "Who did what and when, newest first",
                self.page,
                parameters=(
                    SINCE,
                    Parameter("node", "Only entries about this node."),
                    Parameter("incident", "Only entries about this incident."),
                    LIMIT,
                    CURSOR,
                ),
                answer=AuditPage,
            ),
        )

    async def page(self, query: Query, headers: Headers) -> Page:
        """`AuditPage`; 503 while the journal cannot be read. Raises UsageError, UnmetError."""
        since, limit = only(query, "since"), limit_of(query)
        start = None if since is None else parse_start(since, self._clock.wall())
        node, incident, before = only(query, "node"), only(query, "incident"), _before(query)
        location = self._journal()
        if location is None:
            raise UnmetError("no journal is kept here; it needs rules and a state_dir")
        from accelwatch.alerting.incidents.journal.errors import JournalError
        from accelwatch.alerting.incidents.journal.opening import read_journal

        def read() -> AuditPage:
            with contextlib.closing(read_journal(location)) as file:
                newest = file.latest(before)
                return page_of(newest, since=start, node=node, incident=incident, limit=limit)

        async with self._reading:
            try:
                return json_page(await asyncio.to_thread(read), headers)
            except JournalError as error:
                return plain(503, str(error), {"Retry-After": "10"})


def _before(query: Query) -> int | None:
    text = only(query, "cursor")
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text[:19]) < 2**63:
        raise UsageError("cursor: `next` of the page before")
    return int(text[:19])
