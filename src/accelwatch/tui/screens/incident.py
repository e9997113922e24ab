"""One incident: where, since when, whose job, what to do, evidence, history, its rule now; graphs."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from accelwatch.alerting.evaluation.documents import IncidentDocument
from accelwatch.alerting.evaluation.explanation import Explanation
from accelwatch.fleet.documents.graphs import IncidentGraphs
from accelwatch.fleet.picture.graph_text import captions
from accelwatch.fleet.picture.model import RecentHistory
from accelwatch.fleet.wire import IncidentNow
from accelwatch.tui.drawing.lines import Line
from accelwatch.tui.fleet.board import FleetBoard
from accelwatch.tui.incidents.facts import IncidentFacts
from accelwatch.tui.incidents.page_lines import lines
from accelwatch.tui.incidents.remedy_facts import RemedyFacts
from accelwatch.tui.screens.page import PageScreen
from accelwatch.tui.state.action import INCIDENT
from accelwatch.tui.state.board import Board
from accelwatch.tui.views.graphs.incident_graphs import (
    IncidentHistory,
    drawable,
    incident_strip,
    reasons,
)

if TYPE_CHECKING:
    from accelwatch.remediation.policy.plan.model import Plan

# After how long the hub is queried again.
_AGAIN_S = 5.0


class IncidentView:
    """The incident of the page, and what the hub has answered about it."""

    def __init__(self, fleet: FleetBoard, current: IncidentNow, now: Callable[[], float]) -> None:
        self._fleet = fleet
        self._now = now
        self._current = current
        # Whether the hub no longer reports it.
        self.is_stale = False
        self.history = IncidentHistory()
        self.explanation: Explanation | None = None
        # Why there is no explanation.
        self.unexplained = ""
        self.plan: Plan | None = None
        # Why there is no plan.
        self.unplanned = ""
        self._queried_at = float("-inf")

    @property
    def current(self) -> IncidentNow:
        """The incident as last reported."""
        newest = self._fleet.incidents.incident(self._current.incident.id)
        self.is_stale = newest is None
        self._current = newest or self._current
        return self._current

    def move(self, step: int) -> bool:
        """Go to the incident above or below; false where there is none."""
        beside = self._fleet.incidents.beside(self._current.incident.id, step)
        if beside is None:
            return False
        self._current, self._queried_at = beside, float("-inf")
        self.history, self.explanation, self.unexplained = IncidentHistory(), None, ""
        self.plan, self.unplanned = None, ""
        return True

    def answered(
        self,
        id_: str,
        explanation: Explanation | None,
        why: str,
        history: RecentHistory | None,
        graphs: IncidentGraphs | None = None,
    ) -> None:
        """What the hub has answered about an incident; of another than this one it is too late."""
        if id_ == self._current.incident.id:
            self.explanation, self.unexplained = explanation, why
            self.history = IncidentHistory(was_requested=True, device=history, graphs=graphs)

    def planned(self, id_: str, plan: "Plan | None", why: str) -> None:
        """What the hub would do about an incident, or why that is not known."""
        if id_ == self._current.incident.id:
            self.plan, self.unplanned = plan, why

    def query_again(self) -> None:
        """Something was done: query the hub again."""
        self._queried_at = float("-inf")

    def due(self) -> bool:
        """Whether to query the hub now; if so, not again for a while."""
        now = self._now()
        if abs(now - self._queried_at) < _AGAIN_S:  # in an archive time goes back too
            return False
        self._queried_at = now
        return True

    def facts(self) -> IncidentFacts:
        """All that there is to write."""
        current = self.current
        return IncidentFacts(
            current=current,
            now=self._now(),
            is_stale=self.is_stale,
            members=self._fleet.incidents.members(current.incident.id),
            explanation=self.explanation,
            unexplained=self.unexplained,
            compared=self._compared(),
            ungraphed=reasons(current.incident, self.history),
            remedy=self._remedy(current.incident),
        )

    def _compared(self) -> list[str]:
        graphs = self.history.graphs
        return [] if graphs is None else captions(graphs)

    def _remedy(self, incident: IncidentDocument) -> RemedyFacts:
        board = self._fleet.remedies
        page = board.page
        if page is None or not page.acts:
            return RemedyFacts()
        own = board.of_node(incident.node)
        return RemedyFacts(
            acts=True,
            by=", ".join(page.actions),
            incident=incident.id,
            remedies=board.of_incident(incident) or ([] if own is None else [own]),
            veto=board.veto_of(incident.node),
            plan=self.plan,
            unplanned=self.unplanned,
        )


def incident_screen(
    board: Board,
    view: IncidentView,
    now: Callable[[], float],
    query: Callable[[IncidentView], None],
) -> PageScreen:
    """The screen; left and right go to the incidents beside it. `query` queries the hub about it."""

    def write(width: int) -> list[Line]:
        if view.due():
            query(view)
        return lines(view.facts(), width, board.paint.glyphs)

    def draw(width: int, height: int) -> list[Line]:
        return incident_strip(board, view.current.incident, view.history, width, height)

    def heights(rows: int) -> int:
        if not drawable(view.current.incident, view.history):
            return 0
        return 9 if rows >= 36 else 7 if rows >= 20 else 0

    def handle(action: str) -> bool:
        return action in ("left", "right") and view.move(-1 if action == "left" else 1)

    return PageScreen(
        board,
        INCIDENT,
        write,
        now,
        draw=draw,
        heights=heights,
        handle=handle,
        text_first=True,  # whose work and what to do matter before what it looked like
    )
