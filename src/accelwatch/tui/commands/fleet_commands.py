"""What keys do on the Fleet screen: filter, sort, group, map, events, acknowledge, open a node."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from accelwatch.base.errors import ExpressionError
from accelwatch.fleet.names import fleet_names
from accelwatch.fleet.picture import grouping
from accelwatch.fleet.picture.ordering import SORTS, TITLES
from accelwatch.fleet.wire import DeviceSlot
from accelwatch.tui.commands.filtering import prompt_filter
from accelwatch.tui.commands.registry import Handlers
from accelwatch.tui.context import DashboardContext
from accelwatch.tui.fleet import columns
from accelwatch.tui.fleet.filters import condition
from accelwatch.tui.state import fleet_actions, program_actions, row_actions, time_actions
from accelwatch.tui.state.action import FLEET, INCIDENTS
from accelwatch.tui.state.filtering import Filtering
from accelwatch.tui.theme.preferences import FORMS, SHADES, slower

if TYPE_CHECKING:
    from accelwatch.tui.fleet_controller import FleetController
    from accelwatch.tui.screens.fleet import FleetScreen

# A condition costs the hub a look at every device, so it is not asked for each letter.
_TYPING_S = 0.3


class FleetCommands:
    """One handler per action; False means that the Fleet screen is not the present one."""

    def __init__(self, app: DashboardContext, controller: "FleetController") -> None:
        self._app = app
        self._controller = controller

    def handlers(self) -> Handlers:
        """What each action does here."""
        return {
            row_actions.ENTER: self.do_enter,
            row_actions.TAG: self.do_tag,
            program_actions.BACK: self.do_back,
            row_actions.FILTER: self.do_filter,
            row_actions.SORT: self.do_sort,
            row_actions.SORT_LEFT: self.do_sort_left,
            row_actions.SORT_RIGHT: self.do_sort_right,
            row_actions.REVERSE: self.do_reverse,
            row_actions.TREE: self.do_tree,
            fleet_actions.GROUP_BY: self.do_group_by,
            fleet_actions.GRID: self.do_grid,
            fleet_actions.SHADE: self.do_shade,
            fleet_actions.EVENTS: self.do_events,
            fleet_actions.PROBLEMS: self.do_problems,
            fleet_actions.ACKNOWLEDGE: self.do_acknowledge,
            row_actions.COPY: self.do_copy,
            row_actions.COPY_ROW: self.do_copy_row,
            time_actions.FASTER: self.do_faster,
            time_actions.SLOWER: self.do_slower,
        }

    @property
    def _screen(self) -> "FleetScreen | None":
        from accelwatch.tui.screens.fleet import FleetScreen

        screen = self._app.screen
        return screen if isinstance(screen, FleetScreen) else None

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

    def do_back(self) -> bool:
        """Clear the filter."""
        if self._screen is None:
            return False
        if self._controller.board.filter_text:
            self._controller.set_filter("")
        return True

    def do_filter(self) -> bool:
        """Ask for a filter: plain text, or a condition that the hub looks for."""
        filtering = self.filtering()
        if filtering is not None:
            prompt_filter(self._app, filtering)
        return filtering is not None

    def filtering(self) -> Filtering | None:
        """How the fleet is filtered; None where it is not on the screen."""
        from accelwatch.tui.local.filters import complaint, completions_of

        if self._screen is None:
            return None
        controller, board = self._controller, self._controller.board

        def wrong(text: str) -> str:
            try:
                condition(text, board.labels)
            except ExpressionError as error:
                return complaint(error)
            return ""

        def count() -> str:
            if board.waiting:
                return "asking the hub"
            total = len(board.view.nodes) if board.view is not None else 0
            return f"{board.shown_nodes} of {total} nodes"

        return Filtering(
            what="devices",
            table=FLEET,
            present=board.filter_text,
            example='state == "lost" or user == "ada"',
            wrong=wrong,
            names=completions_of(fleet_names(board.labels)),
            set=controller.set_filter,
            count=count,
            pause_s=_TYPING_S,
        )

    def sorts(self) -> list[tuple[str, Callable[[], None]]]:
        """What rows can be sorted by; nothing on other screens."""
        if self._screen is None:
            return []
        return [(TITLES[name], partial(self.sort_by, name)) for name in SORTS]

    def do_sort(self) -> bool:
        """Ask for what rows are sorted by."""
        from accelwatch.tui.screens.dialogs.choice import ChoiceScreen

        if self._screen is None:
            return False
        picker = ChoiceScreen(
            self._app.board,
            "Sort the fleet by",
            [],
            [(name, TITLES[name]) for name in SORTS],
            self._app.board.preferences.fleet_sort,
        )
        self._app.push_screen(picker, lambda name: self.sort_by(name) if name else None)
        return True

    def sort_by(self, name: str) -> None:
        """Sort by something, or turn its order round."""
        if name not in SORTS:
            return
        preferences = self._app.board.preferences
        if preferences.fleet_sort == name:
            preferences.fleet_descending = not preferences.fleet_descending
        else:
            preferences.fleet_sort, preferences.fleet_descending = name, name != "node"
        self._arrange()

    def sort_at(self, width: int, x: int) -> None:
        """A click on a heading."""
        self.sort_by(columns.sort_at(width, self._controller.board, x))

    def do_sort_left(self) -> bool:
        """What is to the left."""
        return self._sort_step(-1)

    def do_sort_right(self) -> bool:
        """What is to the right."""
        return self._sort_step(1)

    def _sort_step(self, step: int) -> bool:
        if self._screen is not None:
            present = self._app.board.preferences.fleet_sort
            index = SORTS.index(present) if present in SORTS else 0
            self.sort_by(SORTS[(index + step) % len(SORTS)])
        return self._screen is not None

    def do_reverse(self) -> bool:
        """Reverse the order."""
        if self._screen is not None:
            self.sort_by(self._app.board.preferences.fleet_sort)
        return self._screen is not None

    def _arrange(self) -> None:
        self._controller.board.arrange()
        self._app.show()

    def do_tree(self) -> bool:
        """The next grouping."""
        if self._screen is not None:
            self._group(grouping.following(self._app.board.preferences.fleet_group))
        return self._screen is not None

    def do_group_by(self) -> bool:
        """Ask by what to group."""
        from accelwatch.tui.screens.dialogs.choice import ChoiceScreen

        if self._screen is None:
            return False
        names = grouping.choices(self._controller.board.labels)
        present = self._app.board.preferences.fleet_group
        picker = ChoiceScreen(
            self._app.board, "Group by", [], [(name, name) for name in names], present
        )
        self._app.push_screen(picker, lambda name: self._group(name) if name else None)
        return True

    def _group(self, name: str) -> None:
        self._app.board.preferences.fleet_group = name
        self._controller.board.unfolded.clear()
        self._app.show_message("no groups" if name == grouping.NONE else f"grouped by {name}")
        self._controller.recount()

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
        """What the hub cannot do, in full."""
        if self._app.view_name not in (FLEET, INCIDENTS):
            return False
        if self._controller.board.troubles:
            self._app.commands.open("problems")
        else:
            self._app.show_message("hub OK: no problems")
        return True

    def do_acknowledge(self) -> bool:
        """Ask whether what is missing is to be forgotten, with Cancel under the keys."""
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

    def do_copy(self) -> bool:
        """The node's name, or the uuid of the selected light."""
        screen = self._screen
        if screen is None:
            return False
        device = self._selected_device(screen)
        name = screen.selected_node or (screen.row.group if screen.row is not None else "")
        self._app.commands.copied((device.uuid or device.id) if device is not None else name)
        return True

    def do_copy_row(self) -> bool:
        """The node, or the selected light, as JSON."""
        screen = self._screen
        if screen is None:
            return False
        row = self._selected_device(screen) or self._controller.board.node(screen.selected_node)
        if row is not None:
            plain = msgspec.structs.asdict(row)
            self._app.commands.copied(msgspec.json.encode(plain).decode())
        return True

    def _selected_device(self, screen: "FleetScreen") -> DeviceSlot | None:
        cell = screen.lights.cell if screen.lit and not screen.on_events else None
        return self._controller.board.device(cell[1]) if cell is not None and cell[1] >= 0 else None

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
