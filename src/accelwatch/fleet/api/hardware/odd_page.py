"""`GET /v1/odd`: who differs from the many alike, for whoever has rolled something out."""

import asyncio
import itertools

from accelwatch.base.slices import LongWork
from accelwatch.fleet.odd.documents import OddPage
from accelwatch.fleet.state.boards.odd_comparing import USUAL_LABEL, differences, observations_of
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.schema.timestamps import timestamp
from accelwatch.web.pages.json_page import json_page
from accelwatch.web.pages.page import Headers, Page, Query, only
from accelwatch.web.pages.routes import Parameter, Route

PATH = "/v1/odd"


class OddPages:
    """For the hub's event loop; one page is counted at a time."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        # One walk over the fleet at a time, however many clients request the page.
        self._counting = asyncio.Lock()

    def routes(self) -> tuple[Route, ...]:
        """The routes."""
        return (
            Route(
                "GET",
                PATH,
                "Nodes whose driver, firmware, kernel or agent differs from the many of their kind",
                self.page,
                parameters=(Parameter("by", "Compare within this label of the nodes."),),
                answer=OddPage,
            ),
        )

    async def page(self, query: Query, headers: Headers) -> Page:
        """`OddPage`. Raises UsageError."""
        by = only(query, "by")
        label = USUAL_LABEL if by is None else by
        async with self._counting:
            work, observations, nodes = LongWork(), [], 0
            for node in list(self._fleet.nodes.values()):
                await work.yield_control()
                of_node = observations_of(node, label)
                nodes += bool(of_node)
                observations.append(of_node)
        page = OddPage(
            time=timestamp(self._fleet.clock.wall()),
            nodes=nodes,
            differences=tuple(differences(itertools.chain.from_iterable(observations))),
        )
        return json_page(page, headers)
