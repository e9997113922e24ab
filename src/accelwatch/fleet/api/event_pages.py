"""The page of error events."""

from collections.abc import Callable, Iterator

from accelwatch.fleet.api.query.events import SINCE, event_query, events_page
from accelwatch.fleet.documents.fleet import EventsPage
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.web.pages.json_page import json_page
from accelwatch.web.pages.page import Headers, Page, Query
from accelwatch.web.pages.routes import CURSOR, LIMIT, Parameter, Route


class EventPages:
    """For the hub's event loop."""

    def __init__(self, fleet: Fleet, labels: Callable[[], set[str]]) -> None:
        """`labels` gives the names of all labels of targets."""
        self._fleet = fleet
        self._labels = labels

    def routes(self) -> Iterator[Route]:
        """The routes."""
        yield Route(
            "GET",
            "/v1/events",
            "Error events, newest first",
            self._events,
            parameters=(
                SINCE,
                Parameter("node", "Only events of this node."),
                Parameter("filter", "A condition over events (docs/fleet/hub.md)."),
                LIMIT,
                CURSOR,
            ),
            answer=EventsPage,
        )

    def _events(self, query: Query, headers: Headers) -> Page:
        chosen = event_query(query, self._fleet.clock.wall(), self._labels())
        return json_page(events_page(self._fleet, chosen), headers)
