"""What keys do on the Incidents screen and on the page of one: look, filter, sort, fold, open a node."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from accelwatch.base.errors import ExpressionError
from accelwatch.fleet.picture.incidents import SORTS, TITLES
from accelwatch.fleet.wire import IncidentNow
from accelwatch.tui.commands.clipboard import copy_text
from accelwatch.tui.commands.filtering import prompt_filter
from accelwatch.tui.commands.incidents.incident_changes import IncidentChanging
from accelwatch.tui.commands.registry import Handlers
from accelwatch.tui.context import DashboardContext
from accelwatch.tui.incidents.columns import sort_at
from accelwatch.tui.incidents.filters import NAMES, incident_filter
from accelwatch.tui.state import fleet_actions, program_actions, row_actions
from accelwatch.tui.state.action import INCIDENT, INCIDENTS
from accelwatch.tui.state.filtering import Filtering

if TYPE_CHECKING:
    from accelwatch.tui.feeds.fleet_controller import FleetController
    from accelwatch.tui.screens.incident import IncidentView
    from accelwatch.tui.screens.incidents import IncidentsScreen


class IncidentCommands:
    """One handler per action; False means that no incident is on the screen."""

    def __init__(self, app: DashboardContext, controller: "FleetController") -> None:
        self._app = app
        self._controller = controller
        self._board = controller.board.incidents
        self._changing = IncidentChanging(app, controller)
        # What the page that was opened last shows.
        self._incident_view: IncidentView | None = None

    def handlers(self) -> Handlers:
        """What each action does here."""
        return {
            row_actions.ENTER: self.do_enter,
            program_actions.BACK: self.do_back,
            row_actions.FILTER: self.do_filter,
            row_actions.SORT: self.do_sort,
            row_actions.SORT_LEFT: self.do_sort_left,
            row_actions.SORT_RIGHT: self.do_sort_right,
            row_actions.REVERSE: self.do_reverse,
            row_actions.TAG: self.do_tag,
            fleet_actions.OVER: self.do_over,
            fleet_actions.SILENCE: self.do_silence,
            fleet_actions.CLOSE_INCIDENT: self.do_close_incident,
            row_actions.COPY: self.do_copy,
            row_actions.COPY_ROW: self.do_copy_row,
        }

    @property
    def _screen(self) -> "IncidentsScreen | None":
        from accelwatch.tui.screens.incidents import IncidentsScreen

        screen = self._app.screen
        return screen if isinstance(screen, IncidentsScreen) else None

    @property
    def _on_page(self) -> bool:
        return self._app.view_name == INCIDENT

    @property
    def current(self) -> IncidentNow | None:
        """The incident that the keys are about."""
        if self._on_page and self._incident_view is not None:
            return self._incident_view.current
        return self._screen.selected if self._screen is not None else None

    def do_enter(self) -> bool:
        """The page of the selected incident; from there its node."""
        current, on_page = self.current, self._on_page
        if not on_page and self._screen is None:
            return False
        if current is not None and on_page:
            self._visit(current)
        elif current is not None:
            self._open_incident(current)
        return True

    def _open_incident(self, current: IncidentNow) -> None:
        from accelwatch.tui.screens.incident import IncidentView, incident_screen

        app, controller = self._app, self._controller
        self._incident_view = view = IncidentView(controller.board, current, controller.now)
        app.push_screen(
            incident_screen(app.board, view, controller.now, controller.incident_queries.query)
        )
        app.call_after_refresh(app.show)

    def _visit(self, current: IncidentNow) -> None:
        """Its node's Local view, the device selected."""
        node = current.incident.node or next(iter(current.incident.nodes), "")
        if self._app.fleet_controller is None:
            self._app.board.selected_id = current.incident.device or self._app.board.selected_id
            self._app.commands.open("local")
            return
        if not node or not self._controller.visit(node):
            self._app.show_message(
                f"no node {node} in this fleet" if node else "it is about no node"
            )
            return
        if current.incident.device:
            self._app.board.selected_id = current.incident.device
        self._app.board.node_status = self._controller.node_status
        self._app.commands.open("local")

    def do_back(self) -> bool:
        """Clear the filter."""
        if self._screen is None or not self._board.filter_text:
            return False
        self._board.set_filter("")
        self._app.show()
        return True

    def do_filter(self) -> bool:
        """Prompt for a filter."""
        filtering = self.filtering()
        if filtering is not None:
            prompt_filter(self._app, filtering)
        return filtering is not None

    def filtering(self) -> Filtering | None:
        """How incidents are filtered; None where they are not on the screen."""
        from accelwatch.tui.local.filters import complaint

        if self._screen is None:
            return None
        board = self._board

        def wrong(text: str) -> str:
            try:
                incident_filter(text, board.labels)
            except ExpressionError as error:
                return complaint(error)
            return ""

        def apply(text: str) -> None:
            board.set_filter(text)
            self._app.show()

        return Filtering(
            what="incidents",
            table=INCIDENTS,
            present=board.filter_text,
            example='severity == "critical" and rack == "r07"',
            wrong=wrong,
            names=[*NAMES, *sorted(board.labels)],
            set=apply,
            count=lambda: f"{len(board.rows)} of {len(board.reported)} incidents",
        )

    def sorts(self) -> list[tuple[str, Callable[[], None]]]:
        """What incidents can be sorted by; nothing on other screens."""
        if self._screen is None:
            return []
        return [(TITLES[name], partial(self.sort_by, name)) for name in SORTS]

    def do_sort(self) -> bool:
        """Prompt for what incidents are sorted by."""
        from accelwatch.tui.screens.dialogs.choice import ChoiceScreen

        if self._screen is None:
            return False
        choices = [(name, TITLES[name]) for name in SORTS]
        picker = ChoiceScreen(self._app.board, "Sort incidents by", [], choices, self._board.sort)
        self._app.push_screen(picker, lambda name: self.sort_by(name) if name else None)
        return True

    def sort_by(self, name: str) -> None:
        """Sort by something, or turn its order round."""
        self._board.sort_by(name)
        self._app.show()

    def sort_at(self, width: int, x: int) -> None:
        """A click on a heading."""
        self.sort_by(sort_at(width, x, acts=self._controller.board.remedies.acts))

    def do_sort_left(self) -> bool:
        """What is to the left."""
        return self._sort_step(-1)

    def do_sort_right(self) -> bool:
        """What is to the right."""
        return self._sort_step(1)

    def _sort_step(self, step: int) -> bool:
        if self._screen is not None:
            index = SORTS.index(self._board.sort)
            self.sort_by(SORTS[(index + step) % len(SORTS)])
        return self._screen is not None

    def do_reverse(self) -> bool:
        """Reverse the order."""
        if self._screen is not None:
            self.sort_by(self._board.sort)
        return self._screen is not None

    def do_tag(self) -> bool:
        """Fold or unfold a group."""
        screen = self._screen
        if screen is not None:
            screen.fold()
        return screen is not None

    def do_over(self) -> bool:
        """Show those that are over too, or not."""
        if self._screen is not None:
            self._board.show_over(over=not self._board.over)
            shown = "recently resolved ones too" if self._board.over else "open ones only"
            self._app.show_message(shown)
            self._app.show()
        return self._screen is not None

    def do_silence(self) -> bool:
        """Mute the incident's notifications for a while, or unmute them."""
        current = self.current
        if current is not None:
            self._changing.silence(current.incident)
        return current is not None

    def do_close_incident(self) -> bool:
        """Close the incident by hand."""
        current = self.current
        if current is not None:
            self._changing.close(current.incident)
        return current is not None

    def do_copy(self) -> bool:
        """The id of the incident."""
        current = self.current
        if current is not None:
            copy_text(self._app, current.incident.id)
        return current is not None

    def do_copy_row(self) -> bool:
        """The incident as JSON."""
        current = self.current
        if current is not None:
            copy_text(self._app, msgspec.json.encode(current.incident).decode())
        return current is not None
