"""What keys do to the filter of a fleet: plain text, or a condition that the hub evaluates."""

from accelwatch.base.errors import ExpressionError
from accelwatch.fleet.names import fleet_names
from accelwatch.tui.commands.filtering import prompt_filter
from accelwatch.tui.commands.fleet.present_fleet import OnFleetScreen
from accelwatch.tui.commands.registry import Handlers
from accelwatch.tui.fleet.filters import condition
from accelwatch.tui.state import program_actions, row_actions
from accelwatch.tui.state.action import FLEET
from accelwatch.tui.state.filtering import Filtering

# The hub evaluates a condition for every device, so not each letter sends a query.
_TYPING_S = 0.3


class FleetFilterCommands(OnFleetScreen):
    """One handler per action; False means that the Fleet screen is not the present one."""

    def handlers(self) -> Handlers:
        """What each action does here."""
        return {
            program_actions.BACK: self.do_back,
            row_actions.FILTER: self.do_filter,
        }

    def do_back(self) -> bool:
        """Clear the filter."""
        if self._screen is None:
            return False
        if self._controller.board.filter_text:
            self._controller.set_filter("")
        return True

    def do_filter(self) -> bool:
        """Prompt for a filter: plain text, or a condition that the hub evaluates."""
        filtering = self.filtering()
        if filtering is not None:
            prompt_filter(self._app, filtering)
        return filtering is not None

    def filtering(self) -> Filtering | None:
        """How the fleet is filtered; None where it is not on the screen."""
        from accelwatch.tui.local.filters import complaint, completions_of

        if self._screen is None:
            return None
        controller, board = self._controller, self._controller.board

        def wrong(text: str) -> str:
            try:
                condition(text, board.labels)
            except ExpressionError as error:
                return complaint(error)
            return ""

        def count() -> str:
            if board.waiting:
                return "asking the hub"
            total = len(board.view.nodes) if board.view is not None else 0
            return f"{board.shown_nodes} of {total} nodes"

        return Filtering(
            what="devices",
            table=FLEET,
            present=board.filter_text,
            example='state == "lost" or user == "ada"',
            wrong=wrong,
            names=completions_of(fleet_names(board.labels)),
            set=controller.set_filter,
            count=count,
            pause_s=_TYPING_S,
        )
