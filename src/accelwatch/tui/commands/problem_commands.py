"""What `x` does: the next device or node with which something is wrong, round and round."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from accelwatch.schema.snapshot import DeviceView
from accelwatch.schema.status.device_status import effective_state, severity
from accelwatch.tui.commands.fleet.present_fleet import present_fleet
from accelwatch.tui.commands.registry import Handlers
from accelwatch.tui.context import DashboardContext
from accelwatch.tui.state import cursor_actions

if TYPE_CHECKING:
    from accelwatch.tui.screens.fleet import FleetScreen


class ProblemCommands:
    """One handler per action; False where neither devices nor nodes are on the screen."""

    def __init__(self, app: DashboardContext) -> None:
        self._app = app

    def handlers(self) -> Handlers:
        """What each action does here."""
        return {
            cursor_actions.NEXT_PROBLEM: self.do_next_problem,
        }

    def do_next_problem(self) -> bool:
        """Select the next device, or node of a fleet, that is not as it should be."""
        screen = present_fleet(self._app)
        moved = self._next_device() if screen is None else self._next_node(screen)
        if not moved:
            self._app.show_message("nothing is wrong here")
        return True

    def _next_device(self) -> bool:
        board = self._app.board
        bad = [number for number, view in enumerate(board.devices) if _is_wrong(view)]
        if not bad:
            return False
        board.selected_id = board.devices[
            following(bad, board.position_of(board.selected_id))
        ].device.id
        self._app.show()
        return True

    def _next_node(self, screen: "FleetScreen") -> bool:
        if screen.lit:
            return screen.lights.next_fault()
        rows = screen.fleet.rows
        bad = [number for number, row in enumerate(rows) if row.severity]
        if not bad:
            return False
        key = screen.row.key if screen.row is not None else None
        index = next((number for number, row in enumerate(rows) if row.key == key), None)
        screen.nodes.select(rows[following(bad, index)].key)
        self._app.show()
        return True


def following(indices: Sequence[int], present: int | None) -> int:
    """The first index after the present one, else the first of all."""
    return next((index for index in indices if present is None or index > present), indices[0])


def _is_wrong(view: DeviceView) -> bool:
    return severity(effective_state(view.state.value, view.health.value)) > 0
