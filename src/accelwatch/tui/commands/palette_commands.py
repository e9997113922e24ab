"""What `:` does: every command of the present screen, its columns, filters, and what is on it."""

from collections.abc import Callable, Iterator, Sequence

from accelwatch.tui.commands.registry import Handlers
from accelwatch.tui.context import DashboardContext
from accelwatch.tui.state import program_actions
from accelwatch.tui.state.action import DEVICE, FLEET, LOCAL, PROCESSES, SCREEN
from accelwatch.tui.state.actions import usable
from accelwatch.tui.state.filtering import Filtering
from accelwatch.tui.state.key_names import key_name
from accelwatch.tui.state.palette import Entry

# Screens of one machine on which a device is gone to by its name.
_WITH_DEVICES = frozenset({LOCAL, DEVICE, PROCESSES})
_FILTER = "filter "


class PaletteCommands:
    """Offers the commands, and runs the chosen one."""

    def __init__(self, app: DashboardContext) -> None:
        self._app = app

    def handlers(self) -> Handlers:
        """What each action does here."""
        return {
            program_actions.PALETTE: self.do_palette,
        }

    def do_palette(self) -> bool:
        """Prompt for a command by its name."""
        from accelwatch.tui.screens.dialogs.palette import PaletteScreen

        app, filtering = self._app, self._app.commands.filtering()

        def chosen(entry: Entry | None) -> None:
            if entry is not None:
                entry.run()

        def further(text: str) -> Sequence[Entry]:
            filter_text = text.removeprefix(_FILTER).strip() if text.startswith(_FILTER) else ""
            if filtering is None or not filter_text or filtering.wrong(filter_text):
                return ()
            return (self._filter(filtering, filter_text),)

        app.push_screen(PaletteScreen(app.board, list(self._entries(filtering)), further), chosen)
        return True

    def _entries(self, filtering: Filtering | None) -> Iterator[Entry]:
        app = self._app
        screen = app.view_name
        yield from self._actions(screen)
        for title, run in app.commands.sorts():
            yield Entry(name=f"sort by {title}", more="Once more: the other way round.", run=run)
        if filtering is not None:
            for text in reversed(app.board.typed_filters.get(filtering.table, ())):
                yield self._filter(filtering, text)
        yield from self._targets(screen)

    def _actions(self, screen: str) -> Iterator[Entry]:
        app, board = self._app, self._app.board
        actions = usable(
            screen,
            replay=board.recorded,
            archive=board.archive,
            signals=board.signals,
            terminal=board.terminal,
            acts=board.fleet is not None and board.fleet.remedies.acts,
        )
        there = {SCREEN + name for _, name in app.commands.numbered}
        for action in actions:
            if action.id != "palette" and (not action.id.startswith(SCREEN) or action.id in there):
                yield Entry(
                    name=action.label,
                    more=action.help,
                    key=key_name(action.keys[0]),
                    run=_doing(app, action.id),
                )

    def _filter(self, filtering: Filtering, text: str) -> Entry:
        def run() -> None:
            filtering.set(text)
            self._app.board.remember_filter(filtering.table, text)

        return Entry(name=f"{_FILTER}{text}", more=f"Show only such {filtering.what}.", run=run)

    def _targets(self, screen: str) -> Iterator[Entry]:
        """Devices of the machine, or nodes of the fleet."""
        app = self._app
        if screen in _WITH_DEVICES:
            for view in app.board.devices:
                run = self._to_device(view.device.id)
                yield Entry(name=view.device.name, more="Select the device.", run=run)
        fleet = app.board.fleet if screen == FLEET else None
        shown = fleet.view if fleet is not None else None
        for node in shown.nodes if shown is not None else ():
            yield Entry(name=node.node, more="Open the node.", run=self._to_node(node.node))

    def _to_device(self, device_id: str) -> Callable[[], None]:
        def run() -> None:
            self._app.board.selected_id = device_id
            self._app.show()

        return run

    def _to_node(self, name: str) -> Callable[[], None]:
        def run() -> None:
            controller = self._app.fleet_controller
            if controller is None or not controller.visit(name):
                self._app.show_message(f"no node {name} in this fleet")
                return
            self._app.board.node_status = controller.node_status
            self._app.commands.open(LOCAL)

        return run


def _doing(app: DashboardContext, action_id: str) -> Callable[[], None]:
    return lambda: app.action_do(action_id)
