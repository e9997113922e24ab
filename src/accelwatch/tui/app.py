"""The application: shows what its feeds bring on the present screen, and routes keys to commands."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.console import RenderableType
from textual import events, on
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import AwaitMount

from accelwatch.base.clock import Clock, SystemClock
from accelwatch.fleet.picture.source import NoSource, SnapshotSource
from accelwatch.schema.reading import Process
from accelwatch.tui.commands.bindings import ON_SCREENS, bindings
from accelwatch.tui.commands.dispatch import Commands
from accelwatch.tui.context import View
from accelwatch.tui.feeds.fleet_feed import FleetFeed
from accelwatch.tui.feeds.snapshot_feed import SnapshotFeed
from accelwatch.tui.local.own_usage import OwnUsage
from accelwatch.tui.opening import OPENINGS
from accelwatch.tui.state.board import Board
from accelwatch.tui.terminal import suspending
from accelwatch.tui.terminal.cells import TerminalCells
from accelwatch.tui.terminal.input import driver_class
from accelwatch.tui.terminal.textual_private import HookedApp
from accelwatch.tui.theme.styles import CSS, textual_theme
from accelwatch.tui.views.process_list import ProcessList
from accelwatch.tui.widgets.footer import Footer
from accelwatch.tui.widgets.heat_grid import HeatGrid
from accelwatch.tui.widgets.painted import Painted
from accelwatch.tui.widgets.panel import Panel
from accelwatch.tui.widgets.row_list import RowList

if TYPE_CHECKING:
    from accelwatch.fleet.picture.model import FleetSource
    from accelwatch.tui.feeds.fleet_controller import FleetController


class Dashboard(HookedApp, inherit_bindings=False):
    """Owns the board, the feeds and the commands; with a fleet, the first screen is the fleet's."""

    BINDINGS: ClassVar[list[BindingType]] = bindings()
    CSS = CSS
    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT: ClassVar[bool] = False
    TITLE = "accelwatch"
    # How long a message stays in the footer, over the keys.
    MESSAGE_S: ClassVar[float] = 4.0

    def __init__(
        self,
        board: Board,
        source: SnapshotSource | None,
        *,
        fleet: "FleetSource | None" = None,
        incidents: "Callable[[], FleetSource] | None" = None,
        clock: Clock | None = None,
        readonly: bool = False,
        preferences_path: Path = Path("dashboard.yaml"),
    ) -> None:
        # Textual's own greys for NO_COLOR make black of the terminal's default colours.
        colours = True if board.appearance.colourless else None
        super().__init__(driver_class=driver_class(), ansi_color=colours)
        self.board = board
        self.clock = clock or SystemClock()
        self.readonly = readonly
        self.preferences_path = preferences_path
        self.processes = ProcessList(board)
        self.cells = TerminalCells()
        self._fleet_feed = FleetFeed(self, fleet, incidents)
        self.snapshot_feed = SnapshotFeed(self, source or NoSource(), self._fleet_feed)
        self.commands = Commands(self)
        self._message_timer: Timer | None = None
        self._quitting = False
        self.set_theme(board.preferences.theme)

    def get_default_screen(self) -> Screen[None]:
        """The one below all others."""
        return OPENINGS[self.base](self)

    @property
    def base(self) -> str:
        """Name of the screen below all others."""
        return "local" if self.fleet_controller is None else "fleet"

    def set_theme(self, name: str) -> None:
        """Paint in another palette."""
        self.board.preferences.theme = name
        self.board.paint = self.board.appearance.paint(name)
        theme = textual_theme(self.board.paint.palette)
        self.register_theme(theme)
        self.theme = theme.name

    def on_mount(self) -> None:
        """Start to collect."""
        self.app_resume_signal.subscribe(self, lambda _: self.repaint())
        self.snapshot_feed.start()
        self._fleet_feed.start()

    def follow_incidents(self) -> "FleetController":
        """Poll this machine's agent for its incidents from now on."""
        return self._fleet_feed.follow_incidents()

    def report_task_failure(self, task: "asyncio.Task[None]") -> None:
        """A task that nobody awaits has failed: exit, and print why."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fail(error) if isinstance(error, Exception) else None

    def changes(self, update: object) -> object:
        """Only what differs from what the terminal shows."""
        return self.cells.changes(update)

    def pop_screen(self) -> AwaitComplete:
        """Back to the screen below, which has not read the board since it was covered."""
        result = super().pop_screen()
        for widget in self.screen.query(Painted):
            widget.refresh()
        return result

    def repaint(self) -> None:
        """Paint everything again, whatever the terminal shows by now."""
        self.cells.forget()
        self.refresh(layout=True)
        for screen in self.screen_stack:
            for widget in screen.query("*"):
                widget.refresh()

    def on_resize(self, _: events.Resize) -> None:
        """A terminal of another size has moved its lines about."""
        self.cells.forget()

    async def on_unmount(self) -> None:
        """Stop collecting."""
        await self._fleet_feed.stop()
        await self.snapshot_feed.stop()

    def follow(self, source: SnapshotSource) -> None:
        """Show another source from now on, as if nothing had been shown before."""
        self.processes.clear()
        self.snapshot_feed.follow(source)

    @property
    def source(self) -> SnapshotSource:
        """Where snapshots come from."""
        return self.snapshot_feed.source

    @property
    def using(self) -> OwnUsage:
        """Who uses this machine's devices."""
        return self.snapshot_feed.using

    @property
    def fleet_controller(self) -> "FleetController | None":
        """The fleet that is followed."""
        return self._fleet_feed.fleet_controller

    @property
    def incident_controller(self) -> "FleetController | None":
        """Where incidents come from: the fleet, or this machine's agent once it is polled."""
        return self._fleet_feed.incident_controller

    def schedule_fleet_pull(self) -> None:
        """The fleet has changed: pull it soon."""
        self._fleet_feed.schedule()

    def pull_fleet(self) -> None:
        """Show what the fleet's source has."""
        self._fleet_feed.pull()

    def pull(self) -> None:
        """Show what the source has."""
        self.snapshot_feed.pull()

    def show_message(self, text: str) -> None:
        """Show a message in the footer, over the keys, for a few seconds."""
        self.board.message = text
        self.keys_changed()
        if self._message_timer is not None:
            self._message_timer.stop()
        self._message_timer = self.set_timer(self.MESSAGE_S, self.unsay)

    def unsay(self) -> None:
        """Show the keys in the footer again."""
        self.board.message = ""
        self.keys_changed()

    def keys_changed(self) -> None:
        """Paint the footers, of the screens below too: they come back as they were painted last."""
        for screen in self.screen_stack:
            for footer in screen.query(Footer):
                footer.refresh()

    @property
    def view(self) -> View | None:
        """The present screen once it is on the terminal; None before, under a dialog, and at the end."""
        screen = self.screen_stack[-1] if self.screen_stack else None
        if screen is not None and screen.is_mounted and isinstance(screen, View):
            return screen
        return None

    @property
    def view_name(self) -> str:
        """Name of the present screen, before it is on the terminal too; empty under a dialog."""
        return getattr(self.screen, "view_name", "")

    @property
    def process_list(self) -> RowList | None:
        """The list of processes on the present screen, if it has one."""
        rows = getattr(self.view, "process_list", None)
        return rows if isinstance(rows, RowList) else None

    @property
    def chosen_process(self) -> Process | None:
        """The selected process, if the keys go to processes."""
        rows = self.process_list
        if rows is None or not getattr(self.view, "on_processes", False):
            return None
        return self.processes.process_of(rows.selected_key)

    def show_age(self) -> None:
        """Paint the present screen with greater ages."""
        if (view := self.view) is not None:
            view.show_age()

    def show(self) -> None:
        """Paint the present screen, and the one below a dialog."""
        for screen in reversed(self.screen_stack):
            if screen.is_mounted and isinstance(screen, View):
                screen.show()
            for footer in screen.query(Footer):
                footer.follow()
            if not screen.is_modal:
                return

    def suspend_job(self) -> bool:
        """Stop the program until its shell lets it go on; false where that cannot be."""
        return not self.is_headless and not self.is_web and suspending.stop()

    async def on_event(self, event: events.Event) -> None:
        """What is typed waits for the screen that the key before has opened."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            if self._quitting:
                return
            if not self.screen.is_mounted:
                await AwaitMount(self.screen, [self.screen])
        await super().on_event(event)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys of the screens are the dialog's while there is one."""
        if action == ON_SCREENS and self.screen.is_modal:
            return False
        return super().check_action(action, parameters)

    def exit(
        self, result: None = None, return_code: int = 0, message: RenderableType | None = None
    ) -> None:
        """End the program; what is typed from now on does nothing."""
        self._quitting = True
        super().exit(result, return_code, message)

    def action_do_everywhere(self, action_id: str) -> None:
        """Route a key that does the same in a dialog."""
        self.action_do(action_id)

    def action_do(self, action_id: str) -> None:
        """Route a key: the present screen first, then the whole program."""
        if self._quitting:
            return
        view = self.view
        if view is not None and view.perform(action_id):
            return
        self.commands.perform(action_id)

    @on(RowList.Chosen)
    @on(HeatGrid.Chosen)
    def _chosen(self) -> None:
        self.action_do("enter")

    def on_lights_chosen(self) -> None:
        """A second click on a light of the fleet."""
        self.action_do("enter")

    @on(RowList.HeadingClicked)
    def _heading_clicked(self, event: RowList.HeadingClicked) -> None:
        self.commands.sort_by_heading(event.rows, event.x)

    @on(Footer.Pressed)
    @on(Panel.Pressed)
    def _pressed(self, event: Footer.Pressed | Panel.Pressed) -> None:
        self.action_do(event.action_id)
