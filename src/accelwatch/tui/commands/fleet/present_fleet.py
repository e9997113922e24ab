"""The Fleet screen, where it is the present one."""

from typing import TYPE_CHECKING

from accelwatch.tui.context import DashboardContext

if TYPE_CHECKING:
    from accelwatch.tui.screens.fleet import FleetScreen


def present_fleet(app: DashboardContext) -> "FleetScreen | None":
    """The Fleet screen; None while another screen or a dialog has the keys."""
    from accelwatch.tui.screens.fleet import FleetScreen

    screen = app.screen
    return screen if isinstance(screen, FleetScreen) else None
