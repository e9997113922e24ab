"""All commands together: which of them handles a key, and what it needs of the others."""

from typing import TYPE_CHECKING

from accelwatch.tui.commands.blackbox_commands import BlackBoxCommands
from accelwatch.tui.commands.display_commands import DisplayCommands
from accelwatch.tui.commands.event_commands import EventCommands
from accelwatch.tui.commands.palette_commands import PaletteCommands
from accelwatch.tui.commands.problem_commands import ProblemCommands
from accelwatch.tui.commands.process_commands import ProcessCommands
from accelwatch.tui.commands.program_commands import ProgramCommands
from accelwatch.tui.commands.registry import Registry
from accelwatch.tui.commands.replay_commands import ReplayCommands
from accelwatch.tui.commands.screen_commands import ScreenCommands
from accelwatch.tui.commands.why_commands import WhyCommands
from accelwatch.tui.context import DashboardContext
from accelwatch.tui.local.devices.rows import sort_at
from accelwatch.tui.local.processes.rows import column_at
from accelwatch.tui.state.action import SCREEN
from accelwatch.tui.state.actions import by_id, meant
from accelwatch.tui.views.device_list import row_width
from accelwatch.tui.widgets.row_list import RowList

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from accelwatch.fleet.wire import IncidentNow
    from accelwatch.tui.commands.fleet.fleet_commands import FleetCommands
    from accelwatch.tui.commands.incidents.incident_commands import IncidentCommands
    from accelwatch.tui.feeds.fleet_controller import FleetController
    from accelwatch.tui.state.filtering import Filtering


class Commands:
    """The registry of all handlers, and the commands that share a table or a screen."""

    def __init__(self, app: DashboardContext) -> None:
        self._app = app
        self.registry = Registry()
        self._screens = ScreenCommands(
            app, visit_node=self._visit_node, follow_incidents=self._follow_incidents
        )
        self._display = DisplayCommands(app)
        self._processes = ProcessCommands(app)
        for commands in (
            ProgramCommands(app),
            self._screens,
            self._display,
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
        # Tried first: an event that froze the black box opens it, any other leads to its device.
        events = EventCommands(app)
        self.registry.add(events.handlers())
        self.registry.add(BlackBoxCommands(app, events).handlers())

    def _add_fleet(self, controller: "FleetController") -> None:
        from accelwatch.tui.commands.fleet.fleet_commands import FleetCommands
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

    def _visit_node(self) -> bool:
        return self._fleet is not None and self._fleet.visit()

    def _follow_incidents(self) -> None:
        """Start polling this machine's agent when its incidents are first shown."""
        if self._incidents is None:
            self._add_incidents(self._app.follow_incidents())

    @property
    def numbered(self) -> tuple[tuple[str, str], ...]:
        """(key, name) of the screens that there are."""
        return self._screens.numbered

    def open(self, name: str) -> None:
        """Show one of the numbered screens, or another by name."""
        self._screens.open(name)

    def preferences_changed(self) -> None:
        """A setting was changed on the settings screen."""
        self._display.preferences_changed()

    def sort_by_heading(self, rows: RowList, x: int) -> None:
        """A click on a heading: sort by its column, or reverse the order."""
        app, width = self._app, rows.size.width
        if rows is app.process_list:
            self._processes.sort_by(column_at(width, x, empty=app.processes.empty))
        elif rows.id == "devices":
            app.board.sort_devices(sort_at(row_width(width), x, owned=app.board.owned))
            app.show()
        elif rows.id == "nodes" and self._fleet is not None:
            self._fleet.sort_at(width, x)
        elif rows.id == "incidents" and self._incidents is not None:
            self._incidents.sort_at(width, x)
