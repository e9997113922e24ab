"""What keys do to the picture of a fleet: map or rows, shade, events, how often it is read."""

from accelwatch.tui.commands.fleet.present_fleet import OnFleetScreen
from accelwatch.tui.commands.registry import Handlers
from accelwatch.tui.state import fleet_actions, time_actions
from accelwatch.tui.state.action import FLEET, INCIDENTS
from accelwatch.tui.theme.preferences import FORMS, SHADES, slower


class FleetDisplayCommands(OnFleetScreen):
    """One handler per action; problems are also hidden on the screen of incidents."""

    def handlers(self) -> Handlers:
        """What each action does here."""
        return {
            fleet_actions.GRID: self.do_grid,
            fleet_actions.SHADE: self.do_shade,
            fleet_actions.EVENTS: self.do_events,
            fleet_actions.PROBLEMS: self.do_problems,
            time_actions.FASTER: self.do_faster,
            time_actions.SLOWER: self.do_slower,
        }

    def do_grid(self) -> bool:
        """The map, or rows."""
        return self._next("fleet_form", FORMS)

    def do_shade(self) -> bool:
        """What the cells of the map show."""
        if not self._next("fleet_shade", SHADES):
            return False
        self._app.show_message(f"cells show {self._app.board.preferences.fleet_shade}")
        return True

    def _next(self, name: str, choices: tuple[str, ...]) -> bool:
        screen, preferences = self._screen, self._app.board.preferences
        if screen is None:
            return False
        index = choices.index(getattr(preferences, name)) + 1
        setattr(preferences, name, choices[index % len(choices)])
        screen.arranged()
        return True

    def do_events(self) -> bool:
        """Events below the nodes, or not."""
        screen, preferences = self._screen, self._app.board.preferences
        if screen is None:
            return False
        preferences.fleet_events = not preferences.fleet_events
        screen.arranged()
        return True

    def do_problems(self) -> bool:
        """What the hub cannot do, in full; of several hubs how each stands."""
        if self._app.view_name not in (FLEET, INCIDENTS):
            return False
        board = self._controller.board
        if board.troubles or (board.view is not None and board.view.hubs):
            self._app.commands.open("problems")
        else:
            self._app.show_message("hub OK: no problems")
        return True

    def do_faster(self) -> bool:
        """A picture more often; a recorded fleet is played faster."""
        return self._set_interval(-1)

    def do_slower(self) -> bool:
        """A picture less often."""
        return self._set_interval(1)

    def _set_interval(self, step: int) -> bool:
        if self._screen is None or self._controller.source.player is not None:
            return False
        preferences = self._app.board.preferences
        preferences.fleet_interval_s = slower(preferences.fleet_interval_s, step)
        self._controller.source.set_interval(preferences.fleet_interval_s)
        self._app.show_message(f"a picture every {preferences.fleet_interval_s:g} s")
        return True
