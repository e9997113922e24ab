"""What keys do that belong to the whole program rather than to one screen."""

from typing import TYPE_CHECKING

from accelwatch.tui.commands.blackbox_commands import BlackBoxCommands
from accelwatch.tui.commands.event_commands import EventCommands
from accelwatch.tui.commands.palette_commands import PaletteCommands
from accelwatch.tui.commands.problem_commands import ProblemCommands
from accelwatch.tui.commands.process_commands import ProcessCommands
from accelwatch.tui.commands.registry import Handlers, Registry
from accelwatch.tui.commands.replay_commands import ReplayCommands
from accelwatch.tui.commands.why_commands import WhyCommands
from accelwatch.tui.context import DashboardContext
from accelwatch.tui.opening import OPENINGS
from accelwatch.tui.state import program_actions, row_actions, screen_actions, time_actions
from accelwatch.tui.state.action import EVENTS, SCREEN
from accelwatch.tui.state.actions import by_id, meant, numbered_screens
from accelwatch.tui.theme.palettes import next_palette
from accelwatch.tui.theme.preferences import DENSITIES, slower

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from accelwatch.fleet.wire import IncidentNow
    from accelwatch.tui.commands.fleet_commands import FleetCommands
    from accelwatch.tui.commands.incidents.incident_commands import IncidentCommands
    from accelwatch.tui.fleet_controller import FleetController
    from accelwatch.tui.state.filtering import Filtering

# Screens of a fleet, and what is said of them where there is none.
_WITHOUT_FLEET = {
    "fleet": "one machine is shown; for many: accelwatch fleet --targets 'n[001-063]'",
    "incidents": "no agent evaluates this; for a recording: accelwatch rules backtest --replay FILE",
}
# Screens that, with a fleet, show one of its nodes.
_OF_A_NODE = frozenset({"local", "device", "processes", "doctor"})


class Commands:
    """The handlers of the whole program, and the registry of all."""

    def __init__(self, app: DashboardContext) -> None:
        self._app = app
        self.registry = Registry()
        self.registry.add(self.handlers())
        self._processes = ProcessCommands(app)
        for commands in (
            self._processes,
            ReplayCommands(app),
            WhyCommands(app),
            ProblemCommands(app),
            PaletteCommands(app),
        ):
            self.registry.add(commands.handlers())
        self._fleet: FleetCommands | None = None
        self._incidents: IncidentCommands | None = None
        if app.fleet_controller is not None:
            self._add_fleet(app.fleet_controller)
        # Asked first: an event that froze the black box opens it, any other leads to its device.
        events = EventCommands(app)
        self.registry.add(events.handlers())
        self.registry.add(BlackBoxCommands(app, events).handlers())
        self.sort_by = self._processes.sort_by

    def _add_fleet(self, controller: "FleetController") -> None:
        from accelwatch.tui.commands.fleet_commands import FleetCommands
        from accelwatch.tui.commands.incidents.remedy_commands import RemedyCommands

        self._fleet = FleetCommands(self._app, controller)
        self.registry.add(self._fleet.handlers())
        incidents = self._add_incidents(controller)
        remedies = RemedyCommands(self._app, controller, lambda: incidents.current)
        self.registry.add(remedies.handlers())

    def _add_incidents(self, controller: "FleetController") -> "IncidentCommands":
        from accelwatch.tui.commands.incidents.incident_commands import IncidentCommands

        self._incidents = IncidentCommands(self._app, controller)
        self.registry.add(self._incidents.handlers())
        return self._incidents

    def handlers(self) -> Handlers:
        """What each action does here."""
        return {
            program_actions.QUIT: self.do_quit,
            program_actions.SUSPEND: self.do_suspend,
            program_actions.BACK: self.do_back,
            program_actions.HELP: self.do_help,
            screen_actions.TOPOLOGY: self.do_topology,
            screen_actions.USAGE_PAGE: self.do_usage,
            screen_actions.SETTINGS: self.do_settings,
            screen_actions.NEXT_SCREEN: self.do_next_screen,
            screen_actions.PREVIOUS_SCREEN: self.do_previous_screen,
            row_actions.ENTER: self.do_enter,
            program_actions.THEME: self.do_theme,
            program_actions.DENSITY: self.do_density,
            time_actions.PAUSE: self.do_pause,
            time_actions.FASTER: self.do_faster,
            time_actions.SLOWER: self.do_slower,
            row_actions.SPAN: self.do_span,
            row_actions.COPY: self.do_copy,
            row_actions.COPY_ROW: self.do_copy_row,
            program_actions.REDRAW: self.do_redraw,
        }

    @property
    def current_incident(self) -> "IncidentNow | None":
        """The incident that the keys are about; None where none is on the screen."""
        return self._incidents.current if self._incidents is not None else None

    def perform(self, action: str) -> bool:
        """Do it; false when there is no such command now."""
        action = meant(action, self._app.view_name)
        entry = by_id().get(action)
        if entry is not None and entry.leaves and not self._app.board.terminal:
            return False
        if action.startswith(SCREEN):
            self.open(action.removeprefix(SCREEN))
            return True
        return self.registry.perform(action)

    def sorts(self) -> "Sequence[tuple[str, Callable[[], None]]]":
        """What the tables on the screen can be sorted by: its words, and what does it."""
        options = [holder.sorts() for holder in self._tables]
        return [pair for pairs in options for pair in pairs]

    def filtering(self) -> "Filtering | None":
        """How the present screen is filtered; None where it is not."""
        filterings = (holder.filtering() for holder in self._tables)
        return next((filtering for filtering in filterings if filtering is not None), None)

    @property
    def _tables(self) -> "Sequence[ProcessCommands | FleetCommands | IncidentCommands]":
        holders = (self._processes, self._fleet, self._incidents)
        return [holder for holder in holders if holder is not None]

    def do_quit(self) -> None:
        """End the program."""
        self._app.exit()

    def do_suspend(self) -> None:
        """Give the terminal back to the shell."""
        if not self._app.suspend_job():
            self._app.show_message("no shell waits for this program, so it is not stopped")

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
                return self._ensure_incidents()
            if name in _WITHOUT_FLEET:
                app.show_message(_WITHOUT_FLEET[name])
            return name not in _WITHOUT_FLEET
        if name in _WITHOUT_FLEET or name == EVENTS:
            app.fleet_controller.leave()
        elif name in _OF_A_NODE and not app.fleet_controller.visited:
            if self._fleet is None or not self._fleet.visit():
                app.show_message("choose a node first")
                return False
            app.board.node_status = app.fleet_controller.node_status
        return True

    @property
    def numbered(self) -> tuple[tuple[str, str], ...]:
        """(key, name) of the screens that there are."""
        fleet = self._app.fleet_controller is not None
        return numbered_screens(fleet=fleet, has_incidents=self._app.board.has_incidents)

    def _ensure_incidents(self) -> bool:
        """Begin to ask this machine's agent, the first time that its incidents are looked at."""
        if self._incidents is None:
            self._add_incidents(self._app.follow_incidents())
        return True

    def sort_fleet_at(self, width: int, x: int) -> None:
        """A click on a heading of the fleet."""
        if self._fleet is not None:
            self._fleet.sort_at(width, x)

    def sort_incidents_at(self, width: int, x: int) -> None:
        """A click on a heading of the incidents."""
        if self._incidents is not None:
            self._incidents.sort_at(width, x)

    def preferences_changed(self) -> None:
        """A setting was changed on the settings screen."""
        preferences = self._app.board.preferences
        self._app.set_theme(preferences.theme)
        self._app.source.set_interval(preferences.interval_s)
        if self._app.fleet_controller is not None:
            self._app.fleet_controller.source.set_interval(preferences.fleet_interval_s)
            self._app.fleet_controller.recount()
        self.do_redraw()

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

    def do_theme(self) -> None:
        """The next theme."""
        self._app.set_theme(next_palette(self._app.board.preferences.theme))
        self._app.show_message(f"theme {self._app.board.paint.palette.title}")
        self.do_redraw()

    def do_density(self) -> None:
        """The next density."""
        preferences = self._app.board.preferences
        index = (DENSITIES.index(preferences.density) + 1) % len(DENSITIES)
        preferences.density = DENSITIES[index]
        self._app.show_message(f"density {preferences.density}")
        self._app.show()

    def do_pause(self) -> None:
        """Hold the picture."""
        board = self._app.board
        board.paused = not board.paused
        board.banner = "paused" if board.paused else ""
        if not board.paused:
            self._app.pull()
            self._app.pull_fleet()
        self._app.show()

    def do_faster(self) -> None:
        """Read more often."""
        self._set_interval(-1)

    def do_slower(self) -> None:
        """Read less often."""
        self._set_interval(1)

    def _set_interval(self, step: int) -> None:
        preferences = self._app.board.preferences
        preferences.interval_s = slower(preferences.interval_s, step)
        self._app.source.set_interval(preferences.interval_s)
        self._app.show_message(f"a reading every {preferences.interval_s:g} s")
        self._app.show()

    def do_span(self) -> None:
        """Five minutes or an hour."""
        self._app.board.hour = not self._app.board.hour
        self._app.show()

    def do_copy(self) -> None:
        """The uuid or pid."""
        from accelwatch.tui.views import copying

        self.copied(copying.name_of(self._app.board, self._app.chosen_process))

    def do_copy_row(self) -> None:
        """All of it as JSON."""
        from accelwatch.tui.views import copying

        self.copied(copying.document_of(self._app.board, self._app.chosen_process))

    def copied(self, text: str) -> None:
        """Put a text on the clipboard, and say so."""
        if text:
            self._app.copy_to_clipboard(text)
            self._app.show_message(
                f"copied {text if len(text) < 50 else f'{len(text)} characters'}"
            )

    def do_redraw(self) -> None:
        """Everything anew, whatever the terminal shows by now."""
        self._app.repaint()
