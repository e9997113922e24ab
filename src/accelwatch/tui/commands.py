"""What keys do that belong to the whole program rather than to one screen."""

from typing import TYPE_CHECKING

from accelwatch.tui.palettes import next_palette
from accelwatch.tui.preferences import DENSITIES, slower

if TYPE_CHECKING:
    from accelwatch.tui.app import Dashboard


class Commands:
    """One method an action, found by its id."""

    def __init__(self, app: "Dashboard") -> None:
        self._app = app

    def perform(self, action: str) -> bool:
        """Do it; false when there is no such command."""
        method = getattr(self, f"_{action}", None)
        if method is None:
            return False
        method()
        return True

    def _quit(self) -> None:
        self._app.exit()

    def _theme(self) -> None:
        self._app.set_theme(next_palette(self._app.board.preferences.theme))
        self._redraw()

    def _density(self) -> None:
        preferences = self._app.board.preferences
        place = (DENSITIES.index(preferences.density) + 1) % len(DENSITIES)
        preferences.density = DENSITIES[place]
        self._app.show()

    def _pause(self) -> None:
        board = self._app.board
        board.paused = not board.paused
        board.banner = "paused" if board.paused else ""
        if not board.paused:
            self._app.take()
        self._app.show()

    def _faster(self) -> None:
        self._set_interval(-1)

    def _slower(self) -> None:
        self._set_interval(1)

    def _set_interval(self, step: int) -> None:
        preferences = self._app.board.preferences
        preferences.interval_s = slower(preferences.interval_s, step)
        self._app.source.set_interval(preferences.interval_s)
        self._app.show()

    def _span(self) -> None:
        self._app.board.hour = not self._app.board.hour
        self._app.show()

    def _redraw(self) -> None:
        self._app.refresh(layout=True)
        for screen in self._app.screen_stack:
            for widget in screen.query("*"):
                widget.refresh()
