"""The commands of the Fleet screen together: nodes, order, filter, display, acknowledgements."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from accelwatch.tui.commands.fleet.acknowledge_commands import AcknowledgeCommands
from accelwatch.tui.commands.fleet.display_commands import FleetDisplayCommands
from accelwatch.tui.commands.fleet.filter_commands import FleetFilterCommands
from accelwatch.tui.commands.fleet.node_commands import NodeCommands
from accelwatch.tui.commands.fleet.order_commands import FleetOrderCommands
from accelwatch.tui.commands.registry import Handlers
from accelwatch.tui.context import DashboardContext
from accelwatch.tui.state.filtering import Filtering

if TYPE_CHECKING:
    from accelwatch.tui.feeds.fleet_controller import FleetController


class FleetCommands:
    """What keys do on the Fleet screen, and what other commands need of it."""

    def __init__(self, app: DashboardContext, controller: "FleetController") -> None:
        self._nodes = NodeCommands(app, controller)
        self._order = FleetOrderCommands(app, controller)
        self._filter = FleetFilterCommands(app, controller)
        self._display = FleetDisplayCommands(app, controller)
        self._acknowledge = AcknowledgeCommands(app, controller)

    def handlers(self) -> Handlers:
        """What each action does here."""
        return {
            **self._nodes.handlers(),
            **self._order.handlers(),
            **self._filter.handlers(),
            **self._display.handlers(),
            **self._acknowledge.handlers(),
        }

    def visit(self) -> bool:
        """Follow the selected node; false when there is none."""
        return self._nodes.visit()

    def filtering(self) -> Filtering | None:
        """How the fleet is filtered; None where it is not on the screen."""
        return self._filter.filtering()

    def sorts(self) -> list[tuple[str, Callable[[], None]]]:
        """What rows can be sorted by; nothing on other screens."""
        return self._order.sorts()

    def sort_at(self, width: int, x: int) -> None:
        """A click on a heading."""
        self._order.sort_at(width, x)
