"""Pages of devices: the list of them, and what they share."""

from collections.abc import Iterator

from accelwatch.base.errors import UsageError
from accelwatch.fleet.api.fleet_counts import FleetCounts
from accelwatch.fleet.api.http import listed
from accelwatch.fleet.api.query.groups import check_grouping, page_of
from accelwatch.fleet.api.query.names import columns, condition
from accelwatch.fleet.api.query.rows import page, position_of
from accelwatch.fleet.documents.fleet import DevicesPage, GroupsPage
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.web.pages.json_page import json_page
from accelwatch.web.pages.page import Headers, Page, Query, limit_of, many, only
from accelwatch.web.pages.routes import CURSOR, LIMIT, Parameter, Route

FILTER = Parameter("filter", "A condition (docs/expressions.md).")
FIELDS = Parameter("fields", "Quantities, separated by commas.")
_BY = Parameter("by", "rack, partition, job, user, a label, or another name.", required=True)


class DevicePages:
    """For the hub's event loop."""

    def __init__(self, fleet: Fleet, counts: FleetCounts) -> None:
        self._fleet = fleet
        self._counts = counts

    def routes(self) -> Iterator[Route]:
        """The routes."""
        yield Route(
            "GET",
            "/v1/devices",
            "Devices",
            self._devices,
            parameters=(FILTER, FIELDS, LIMIT, CURSOR),
            answer=DevicesPage,
        )
        yield Route(
            "GET",
            "/v1/groups",
            "The fleet in numbers by what devices share",
            self._groups,
            parameters=(_BY, FILTER, LIMIT, CURSOR),
            answer=GroupsPage,
        )

    async def _devices(self, query: Query, headers: Headers) -> Page:
        text, cursor = only(query, "filter"), only(query, "cursor")
        async with self._counts.turns.walk() as walk:
            rows, following = await page(
                self._fleet,
                columns(many(query, "fields")),
                names=self._counts.names(),
                expression=condition(text, self._counts.labels()) if text else None,
                after=position_of(cursor) if cursor else None,
                limit=limit_of(query),
                walk=walk,
            )
        return listed("devices", rows, following, headers)

    async def _groups(self, query: Query, headers: Headers) -> Page:
        by, text, cursor = only(query, "by"), only(query, "filter"), only(query, "cursor")
        if by is None:
            raise UsageError("by: say by what, such as rack, partition, job or user")
        check_grouping(by, self._counts.labels())
        limit, after = limit_of(query), position_of(cursor)[0] if cursor else None
        rows = await self._counts.groups(by, text or "")
        return json_page(page_of(by, rows, limit, after), headers)
