"""Queries to the hub about the incident whose page is open: its rule, graphs, plan."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

from accelwatch.base.errors import AccelwatchError
from accelwatch.fleet.picture.incidents import entity_of
from accelwatch.fleet.picture.model import FleetSource
from accelwatch.tui.fleet.board import FleetBoard

if TYPE_CHECKING:
    from accelwatch.remediation.policy.plan.model import Plan
    from accelwatch.tui.screens.incident import IncidentView


class IncidentQueries:
    """Of the page that was opened last."""

    def __init__(
        self,
        source: FleetSource,
        board: FleetBoard,
        aside: Callable[[Coroutine[None, None, None]], object],
        show: Callable[[], None],
    ) -> None:
        """`aside` runs a query beside other work, `show` paints its answer."""
        self._source, self._board = source, board
        self._aside, self._show = aside, show
        self._incident_view: IncidentView | None = None

    def query(self, view: "IncidentView") -> None:
        """Query the hub about an incident: its rule part by part, the past of its device."""
        self._incident_view = view
        incident = view.current.incident
        entity = entity_of(incident)

        async def query() -> None:
            explanation, why = None, "it is about many; the page of a member explains its rule"
            if entity:
                try:
                    explanation, why = await self._source.explain(incident.rule, entity), ""
                except AccelwatchError as error:
                    why = str(error)
            graphs, history = await self._source.graphs(incident.id), None
            if graphs is None and incident.device:
                # The device alone, where nobody makes graphs of it beside its peers.
                history = await self._source.device_history(incident.node, incident.device)
            view.answered(incident.id, explanation, why, history, graphs)
            self._show()

        async def plan() -> None:
            view.planned(incident.id, *await self._plan_of(incident.node))
            self._show()

        self._aside(query())
        self._aside(plan())

    def refresh(self) -> None:
        """Something was done: show soon what has come of it."""
        view = self._incident_view
        if view is not None:
            view.query_again()
        self._show()

    async def _plan_of(self, node: str) -> "tuple[Plan | None, str]":
        """What would be done for a node, or why that is not known; neither where nobody acts."""
        remedies = self._source.remedies
        if remedies is None or not node or not self._board.remedies.acts:
            return None, ""
        try:
            return await remedies.plan(node), ""
        except AccelwatchError as error:
            return None, str(error)
