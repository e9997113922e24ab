"""What keys do to the stack of screens: open one by number or name, go back."""

from collections.abc import Callable

from accelwatch.tui.commands.registry import Handlers
from accelwatch.tui.context import DashboardContext
from accelwatch.tui.opening import OPENINGS
from accelwatch.tui.state import program_actions, row_actions, screen_actions
from accelwatch.tui.state.action import EVENTS
from accelwatch.tui.state.actions import numbered_screens

# Screens of a fleet, and the message where there is none.
_WITHOUT_FLEET = {
    "fleet": "one machine is shown; for many: accelwatch fleet --targets 'n[001-063]'",
    "incidents": "no agent evaluates this; for a recording: accelwatch rules backtest --replay FILE",
}
# Screens that, with a fleet, show one of its nodes.
_OF_A_NODE = frozenset({"local", "device", "processes", "doctor"})


class ScreenCommands:
    """One handler per action, on every screen."""

    def __init__(
        self,
        app: DashboardContext,
        *,
        visit_node: Callable[[], bool],
        follow_incidents: Callable[[], None],
    ) -> None:
        """`visit_node` follows the selected node of a fleet, and is false where none is selected.

        `follow_incidents` starts polling this machine's agent for incidents, once.
        """
        self._app = app
        self._visit_node = visit_node
        self._follow_incidents = follow_incidents

    def handlers(self) -> Handlers:
        """What each action does here."""
        return {
            program_actions.BACK: self.do_back,
            program_actions.HELP: self.do_help,
            screen_actions.TOPOLOGY: self.do_topology,
            screen_actions.USAGE_PAGE: self.do_usage,
            screen_actions.SETTINGS: self.do_settings,
            screen_actions.NEXT_SCREEN: self.do_next_screen,
            screen_actions.PREVIOUS_SCREEN: self.do_previous_screen,
            row_actions.ENTER: self.do_enter,
        }

    def do_back(self) -> None:
        """Leave a screen, else clear the filter; never the program."""
        app = self._app
        name = app.view_name
        if name in ("local", "processes") and app.processes.clear():
            app.show()
        elif len(app.screen_stack) > 1:
            app.pop_screen()
            if app.fleet_controller is not None and len(app.screen_stack) == 1:
                app.fleet_controller.leave()
            app.show()
        elif app.board.filter_text:
            app.board.set_filter("", None)
            app.show()

    def open(self, name: str) -> None:
        """Show one of the numbered screens, or another by name."""
        app = self._app
        if not self._may_open(name):
            return
        # Made while the one before is still there: help begins with its keys.
        screen = OPENINGS[name](app) if name != app.base else None
        while len(app.screen_stack) > 1:
            app.pop_screen()
        if screen is not None:
            app.push_screen(screen)
        app.call_after_refresh(app.show)

    def _may_open(self, name: str) -> bool:
        """Whether there is anything for a screen to show; with a fleet, open the node first."""
        app = self._app
        if name not in OPENINGS:
            names = ", ".join(f"{key} {screen}" for key, screen in self.numbered)
            app.show_message(f"no screen {name}; there are {names}")
            return False
        if app.fleet_controller is None:
            if name == "incidents" and app.board.has_incidents:
                self._follow_incidents()
                return True
            if name in _WITHOUT_FLEET:
                app.show_message(_WITHOUT_FLEET[name])
            return name not in _WITHOUT_FLEET
        if name in _WITHOUT_FLEET or name == EVENTS:
            app.fleet_controller.leave()
        elif name in _OF_A_NODE and not app.fleet_controller.visited:
            if not self._visit_node():
                app.show_message("choose a node first")
                return False
            app.board.node_status = app.fleet_controller.node_status
        return True

    @property
    def numbered(self) -> tuple[tuple[str, str], ...]:
        """(key, name) of the screens that there are."""
        fleet = self._app.fleet_controller is not None
        return numbered_screens(fleet=fleet, has_incidents=self._app.board.has_incidents)

    def do_help(self) -> None:
        """The keys."""
        self.open("help")

    def do_topology(self) -> None:
        """How near devices and adapters are to each other."""
        self.open("topology")

    def do_usage(self) -> None:
        """Who uses the devices."""
        self.open("usage")

    def do_settings(self) -> None:
        """What can be set."""
        self.open("settings")

    def do_next_screen(self) -> None:
        """The next of the numbered screens."""
        self._switch_screen(1)

    def do_previous_screen(self) -> None:
        """The previous one."""
        self._switch_screen(-1)

    def _switch_screen(self, step: int) -> None:
        name = self._app.view_name or self._app.base
        order = [screen for _, screen in self.numbered]
        index = order.index(name) if name in order else 0
        self.open(order[(index + step) % len(order)])

    def do_enter(self) -> None:
        """Details of the selected device."""
        if self._app.view_name == "local":
            self.open("device")
