"""What a key does about missing devices: after a question, the hub expects them no more."""

from accelwatch.tui.commands.fleet.present_fleet import OnFleetScreen
from accelwatch.tui.commands.registry import Handlers
from accelwatch.tui.state import fleet_actions


class AcknowledgeCommands(OnFleetScreen):
    """One handler; False means that the Fleet screen is not the present one."""

    def handlers(self) -> Handlers:
        """What each action does here."""
        return {
            fleet_actions.ACKNOWLEDGE: self.do_acknowledge,
        }

    def do_acknowledge(self) -> bool:
        """Confirm that what is missing is to be forgotten, with Cancel under the keys."""
        screen = self._screen
        if screen is None:
            return False
        node = self._controller.board.node(screen.selected_node)
        if self._controller.source.player is not None:
            self._app.show_message("an archive is read-only")
        elif self._app.readonly:
            self._app.show_message("nothing is acknowledged (--readonly)")
        elif node is None:
            self._app.show_message("choose a node")
        elif not node.devices_missing and node.state in ("up", "slow"):
            self._app.show_message(f"{node.node}: no device is missing")
        else:
            self._confirm_acknowledgement(node.node, node.devices_missing, screen.selected_device)
        return True

    def _confirm_acknowledgement(self, name: str, missing: int, device: str) -> None:
        from accelwatch.tui.screens.dialogs.choice import ChoiceScreen

        device_name = self._missing(name, device)
        choices = [("", "Cancel")]
        if device_name:
            choices.append(("device", f"{device_name} is not expected any more"))
        all_ = f"its {missing} missing devices are" if missing else "it is"
        choices.append(("node", f"{all_} not expected any more"))
        text = ["The hub forgets missing devices until it sees them again.", ""]
        dialog = ChoiceScreen(self._app.board, f"Acknowledge {name}", text, choices)

        def chosen(choice: str | None) -> None:
            if choice:
                self._controller.acknowledge(name, device if choice == "device" else None)

        self._app.push_screen(dialog, chosen)

    def _missing(self, node: str, device: str) -> str:
        """Name of the selected device if it is missing."""
        board = self._controller.board
        view = board.view
        for now in view.devices if view is not None and device else ():
            location = board.device(now.slot)
            if (
                location
                and (location.node, location.id) == (node, device)
                and now.state == "missing"
            ):
                return location.name
        return ""
