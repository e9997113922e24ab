"""What `w` does: why what the keys are about is as it is, in one sentence, with evidence and remedy."""

from typing import TYPE_CHECKING

from accelwatch.fleet.names import SILENT_SOURCE
from accelwatch.fleet.picture.incidents import entity_of
from accelwatch.fleet.picture.remedies import next_step
from accelwatch.fleet.picture.why.answer import answer
from accelwatch.fleet.picture.why.lines import lines_of
from accelwatch.fleet.picture.why.observed_state import (
    ObservedState,
    observed_fleet,
    observed_machine,
    with_node,
)
from accelwatch.fleet.picture.why.subject import subject_of
from accelwatch.schema.status.device_status import severity
from accelwatch.tui.commands.fleet.present_fleet import present_fleet
from accelwatch.tui.commands.registry import Handlers
from accelwatch.tui.context import DashboardContext
from accelwatch.tui.drawing.device_signs import device_class
from accelwatch.tui.state import row_actions
from accelwatch.tui.state.action import FLEET, INCIDENT, INCIDENTS

if TYPE_CHECKING:
    from accelwatch.fleet.picture.model import FleetView
    from accelwatch.schema.reading import Process

_WIDEST = 96
# Columns of the dialog's frame and margins.
_BESIDE = 14
# No command can query the dashboard's own hub.
_MORE = "incident {}, which 5 lists and Enter opens"


class WhyCommands:
    """One handler per action; False where nothing is selected that can be explained."""

    def __init__(self, app: DashboardContext) -> None:
        self._app = app

    def handlers(self) -> Handlers:
        """What each action does here."""
        return {
            row_actions.WHY: self.do_why,
        }

    def do_why(self) -> bool:
        """Explain the state of what is selected."""
        from accelwatch.base.errors import UnmetError
        from accelwatch.tui.screens.dialogs.choice import ChoiceScreen

        observed = self._observed_state()
        if observed is None:
            self._app.show_message("nothing is known yet")
            return True
        try:
            explanation = answer(observed, subject_of(observed, self._what()))
        except UnmetError as error:
            self._app.show_message(str(error))
            return True
        text = lines_of(explanation, min(self._app.size.width - _BESIDE, _WIDEST), _MORE)
        dialog = ChoiceScreen(self._app.board, "Why", [*text, ""], [("", "Close")])
        self._app.push_screen(dialog)
        return True

    @property
    def _view(self) -> "FleetView | None":
        controller = self._app.incident_controller
        return controller.source.fleet() if controller is not None else None

    def _observed_state(self) -> ObservedState | None:
        app, view = self._app, self._view
        if app.fleet_controller is None:
            incidents = (entry.incident for entry in view.incidents) if view is not None else ()
            return observed_machine(app.board.snapshot, incidents)
        if view is None:
            return None
        controller = app.fleet_controller
        page = controller.source.remedies.page() if controller.source.remedies else None
        steps = {remedy.node: next_step(remedy).text for remedy in page.remedies} if page else {}
        observed = observed_fleet(view, steps)
        if not controller.visited:
            return observed
        snapshot = app.board.snapshot
        silent = next(
            (backend for backend in snapshot.backends if backend.name == SILENT_SOURCE), None
        )
        if silent is None:
            return with_node(observed, controller.visited, snapshot)
        return with_node(
            observed, controller.visited, snapshot, silent=silent.message, remedy=silent.remedy
        )

    def _what(self) -> str:
        """What is selected, as `subject_of` reads it; empty for all there is."""
        name = self._app.view_name
        if name == FLEET:
            return self._of_fleet()
        if name in (INCIDENTS, INCIDENT):
            return self._of_incident()
        process = self._app.chosen_process
        if process is not None:
            return f"device:{self._worst_of(process)}"
        view = self._app.board.selected
        return f"device:{view.device.id}" if view is not None else ""

    def _worst_of(self, process: "Process") -> str:
        """Of the devices that the process is on, the one that stands worst."""
        on = [
            view
            for view in self._app.board.snapshot.devices
            if any(candidate.pid == process.pid for candidate in view.reading.processes or ())
        ]
        worst = max(on, key=lambda view: severity(device_class(view)), default=None)
        return process.device_id if worst is None else worst.device.id

    def _of_fleet(self) -> str:
        screen = present_fleet(self._app)
        if screen is None:
            return ""
        node, device = screen.selected_node, screen.selected_device
        if node and device:
            return f"device:{node}/{device}"
        return f"node:{node}" if node else ""

    def _of_incident(self) -> str:
        current = self._app.commands.current_incident
        entity = entity_of(current.incident) if current is not None else ""
        if not entity or entity.startswith(("job:", "rack:")):
            return entity if entity.startswith("job:") else ""
        return f"device:{entity}" if "/" in entity else f"node:{entity}"
