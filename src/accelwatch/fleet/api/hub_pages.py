"""`/v1/hubs`: which of the hubs with one journal leads, and which others there are."""

from collections.abc import Callable, Iterator

from accelwatch.fleet.documents.hubs import HubsPage
from accelwatch.web.pages.json_page import json_page
from accelwatch.web.pages.page import Headers, Page, Query, plain
from accelwatch.web.pages.routes import Route

PATH = "/v1/hubs"
LEADER_PATH = "/-/leader"
# What it answers of a hub that leads: with its lease, or while the lease is not renewed.
LEADS, UNPROVEN = "leads", "leads, and has not renewed its lease"


class HubStatusPages:
    """For the hub's event loop."""

    def __init__(self, status: Callable[[], HubsPage], leads: Callable[[], str]) -> None:
        """`status` gives it as it stands, `leads` LEADS, UNPROVEN, or nothing for a hub that waits."""
        self._status = status
        self._leads = leads

    def routes(self) -> Iterator[Route]:
        """The routes."""
        yield Route(
            "GET",
            PATH,
            "Which hub leads, and which others share its journal",
            self._page,
            answer=HubsPage,
        )
        yield Route(
            "GET",
            LEADER_PATH,
            "Whether this hub leads; for load balancers",
            self._leader,
            media=("text/plain",),
        )

    def _leader(self, _query: Query, _headers: Headers) -> Page:
        leads = self._leads()
        return plain(200, leads) if leads else plain(503, "does not lead")

    def _page(self, _query: Query, headers: Headers) -> Page:
        return json_page(self._status(), headers)
