"""What Enter does on the Events screen: the device at that moment."""

from accelwatch.tui.commands.registry import Handlers
from accelwatch.tui.context import DashboardContext
from accelwatch.tui.events.changes import Change
from accelwatch.tui.local.sources.replay import ReplaySource
from accelwatch.tui.state import row_actions


class EventCommands:
    """One handler per action; False means that the Events screen is not there."""

    def __init__(self, app: DashboardContext) -> None:
        self._app = app

    def handlers(self) -> Handlers:
        """What each action does here."""
        return {
            row_actions.ENTER: self.do_enter,
        }

    @property
    def selected(self) -> Change | None:
        """The change that the keys are about; None on other screens."""
        from accelwatch.tui.screens.events import EventsScreen

        screen = self._app.screen
        return screen.selected if isinstance(screen, EventsScreen) else None

    def do_enter(self) -> bool:
        """The device of the change, as it is now; in a recording, as it was then."""
        change = self.selected
        if change is None:
            return False
        self.visit(change)
        return True

    def visit(self, change: Change) -> None:
        """Show the device, or the machine."""
        app = self._app
        controller = app.fleet_controller
        if controller is not None:
            if not change.node or not controller.visit(change.node):
                app.show_message(f"no node {change.node} in this fleet")
                return
            app.board.node_status = controller.node_status
        elif isinstance(app.source, ReplaySource):
            app.source.seek(change.started_at)
        if change.device_id:
            app.board.selected_id = change.device_id
        app.commands.open("device" if change.device_id else "local")
