"""What keys do with the selected node or group: open, fold, copy."""

from typing import TYPE_CHECKING

import msgspec

from accelwatch.fleet.wire import DeviceSlot
from accelwatch.tui.commands.clipboard import copy_text
from accelwatch.tui.commands.fleet.present_fleet import OnFleetScreen
from accelwatch.tui.commands.registry import Handlers
from accelwatch.tui.state import row_actions

if TYPE_CHECKING:
    from accelwatch.tui.screens.fleet import FleetScreen


class NodeCommands(OnFleetScreen):
    """One handler per action; False means that the Fleet screen is not the present one."""

    def handlers(self) -> Handlers:
        """What each action does here."""
        return {
            row_actions.ENTER: self.do_enter,
            row_actions.TAG: self.do_tag,
            row_actions.COPY: self.do_copy,
            row_actions.COPY_ROW: self.do_copy_row,
        }

    def do_enter(self) -> bool:
        """Open the node, or fold or unfold the group."""
        screen = self._screen
        if screen is None:
            return False
        row = screen.row
        if not screen.on_events and row is not None and not row.node:
            screen.fold(row.group)
        else:
            self._app.commands.open("local")
        return True

    def visit(self) -> bool:
        """Follow the selected node; false when there is none."""
        screen = self._screen
        if screen is None or not screen.selected_node:
            return False
        device = screen.selected_device or self._wrong_device(screen)
        if not self._controller.visit(screen.selected_node):
            return False
        if device:
            self._app.board.selected_id = device
        return True

    def _wrong_device(self, screen: "FleetScreen") -> str:
        """Id of the worst device of the selected node; empty where all are well."""
        row = screen.row if not screen.on_events else None
        device = self._controller.board.device(row.worst.slot) if row and row.worst else None
        return device.id if device is not None else ""

    def do_tag(self) -> bool:
        """Fold or unfold the group."""
        screen = self._screen
        if screen is not None and screen.row is not None and self._controller.board.grouped:
            screen.fold(screen.row.group)
        return screen is not None

    def do_copy(self) -> bool:
        """The node's name, or the uuid of the selected light."""
        screen = self._screen
        if screen is None:
            return False
        device = self._selected_device(screen)
        name = screen.selected_node or (screen.row.group if screen.row is not None else "")
        copy_text(self._app, (device.uuid or device.id) if device is not None else name)
        return True

    def do_copy_row(self) -> bool:
        """The node, or the selected light, as JSON."""
        screen = self._screen
        if screen is None:
            return False
        row = self._selected_device(screen) or self._controller.board.node(screen.selected_node)
        if row is not None:
            plain = msgspec.structs.asdict(row)
            copy_text(self._app, msgspec.json.encode(plain).decode())
        return True

    def _selected_device(self, screen: "FleetScreen") -> DeviceSlot | None:
        cell = screen.lights.cell if screen.lit and not screen.on_events else None
        return self._controller.board.device(cell[1]) if cell is not None and cell[1] >= 0 else None
