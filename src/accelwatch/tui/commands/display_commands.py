"""What keys do to what is shown: theme, density, pause, interval, span, redraw."""

from accelwatch.tui.commands.registry import Handlers
from accelwatch.tui.context import DashboardContext
from accelwatch.tui.state import program_actions, row_actions, time_actions
from accelwatch.tui.theme.palettes import next_palette
from accelwatch.tui.theme.preferences import DENSITIES, slower


class DisplayCommands:
    """One handler per action, on every screen."""

    def __init__(self, app: DashboardContext) -> None:
        self._app = app

    def handlers(self) -> Handlers:
        """What each action does here."""
        return {
            program_actions.THEME: self.do_theme,
            program_actions.DENSITY: self.do_density,
            time_actions.PAUSE: self.do_pause,
            time_actions.FASTER: self.do_faster,
            time_actions.SLOWER: self.do_slower,
            row_actions.SPAN: self.do_span,
            program_actions.REDRAW: self.do_redraw,
        }

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

    def do_redraw(self) -> None:
        """Paint everything again, whatever the terminal shows by now."""
        self._app.repaint()

    def preferences_changed(self) -> None:
        """A setting was changed on the settings screen."""
        preferences = self._app.board.preferences
        self._app.set_theme(preferences.theme)
        self._app.source.set_interval(preferences.interval_s)
        if self._app.fleet_controller is not None:
            self._app.fleet_controller.source.set_interval(preferences.fleet_interval_s)
            self._app.fleet_controller.recount()
        self.do_redraw()
