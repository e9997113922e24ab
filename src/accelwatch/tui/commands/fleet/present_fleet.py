"""The Fleet screen, where it is the present one."""

from typing import TYPE_CHECKING

from accelwatch.tui.context import DashboardContext

if TYPE_CHECKING:
    from accelwatch.tui.feeds.fleet_controller import FleetController
    from accelwatch.tui.screens.fleet import FleetScreen


def present_fleet(app: DashboardContext) -> "FleetScreen | None":
    """The Fleet screen; None while another screen or a dialog has the keys."""
    from accelwatch.tui.screens.fleet import FleetScreen

    screen = app.screen
    return screen if isinstance(screen, FleetScreen) else None


class OnFleetScreen:
    """Commands of the Fleet screen: a handler that finds another one there does nothing, with False."""

    def __init__(self, app: DashboardContext, controller: "FleetController") -> None:
        self._app = app
        self._controller = controller

    @property
    def _screen(self) -> "FleetScreen | None":
        return present_fleet(self._app)
