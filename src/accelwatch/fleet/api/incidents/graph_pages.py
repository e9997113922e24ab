"""`GET /v1/incidents/{id}/graphs`: an incident's quantities over time beside the band of its peers."""

from collections.abc import Callable

from accelwatch.alerting.evaluation.incident_reader import IncidentReader
from accelwatch.alerting.evaluation.paths import INCIDENTS
from accelwatch.base.errors import UnmetError
from accelwatch.base.slices import Turns
from accelwatch.fleet.documents.graphs import IncidentGraphs
from accelwatch.fleet.graphs.incident_graphs import graphs_of
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.web.pages.json_page import json_page
from accelwatch.web.pages.page import Headers, Page, Query
from accelwatch.web.pages.routes import Route


class GraphPages:
    """For the hub's event loop."""

    def __init__(
        self, fleet: Fleet, turns: Turns, rules: Callable[[], IncidentReader | None]
    ) -> None:
        """`turns` are those of all walks over the fleet; `rules` gives None where there are none."""
        self._fleet = fleet
        self._turns = turns
        self._rules = rules

    def routes(self) -> tuple[Route, ...]:
        """The routes."""
        return (
            Route(
                "GET",
                f"{INCIDENTS}/{{id:path}}/graphs",
                "The evidence of an incident over time, beside the quartiles of its peers",
                self.page,
                answer=IncidentGraphs,
            ),
        )

    async def page(self, id_: str, _query: Query, headers: Headers) -> Page:
        """`IncidentGraphs`. Raises UnmetError."""
        rules = self._rules()
        incident = None if rules is None else rules.incident(id_)
        if incident is None:
            raise UnmetError(f"no incident {id_[:100]!r}")
        async with self._turns.walk() as walk:
            return json_page(await graphs_of(self._fleet, incident, walk), headers)
