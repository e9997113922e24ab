"""The application: takes snapshots from the source, shows them on the present screen, routes keys."""

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
from accelwatch.tui.history_feed import HistoryFeed
from accelwatch.tui.local.own_usage import OwnUsage
from accelwatch.tui.local.sources.replay import ReplaySource, banner
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
    from accelwatch.tui.fleet_controller import FleetController

# Reports that come together are painted together, in the first seconds.
_GATHER_S = 0.05
# The same for what a hub tells: it comes in one piece.
_FLEET_GATHER_S = 0.01
# The same for the devices of one tick, of which the slower ones take longer to be read.
_TICK_S = 0.15
# So long data is painted as it comes.
_YOUNG_S = 3.0
# Between two paintings of data, once the first seconds are over.
_GAP_S = 0.4


class Dashboard(HookedApp, inherit_bindings=False):
    """Owns the board and the task of the source; with a fleet, begins on its screen."""

    BINDINGS: ClassVar[list[BindingType]] = bindings()
    CSS = CSS
    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT: ClassVar[bool] = False
    TITLE = "accelwatch"
    # How long something told stands in the place of the keys.
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
        colours = True if board.appearance.colourless else None
        super().__init__(driver_class=driver_class(), ansi_color=colours)
        # Textual's own greys for NO_COLOR make black of the terminal's default colours.
        self.board = board
        self.source = source or NoSource()
        self.clock = clock or SystemClock()
        self.readonly = readonly
        self.preferences_path = preferences_path
        self.processes = ProcessList(board)
        self.cells = TerminalCells()
        self.fleet_controller: FleetController | None = None
        # Whoever tells of incidents: the fleet's, or this machine's agent once it is asked.
        self.incident_controller: FleetController | None = None
        self._incidents = incidents
        if fleet is not None:
            self.incident_controller = self.fleet_controller = self._controller_of(fleet)
            board.fleet = self.fleet_controller.board
        board.has_incidents = fleet is None and incidents is not None
        self.commands = Commands(self)
        self._mind(self.source)
        self._collecting: asyncio.Task[None] | None = None
        self._stopping_tasks: set[asyncio.Task[None]] = set()
        self._message_timer: Timer | None = None
        self._history_feed = HistoryFeed(board, self.report_task_failure)
        # Who uses this machine's devices.
        self.using = OwnUsage()
        self._quitting = False
        self._due = False
        self._fleet_due = False
        # Paints ages; begins anew with each painting of data, which tells them too.
        self._ages: Timer | None = None
        self._painted = 0.0
        self._started_at = 0.0
        self.set_theme(board.preferences.theme)

    def _mind(self, source: SnapshotSource) -> None:
        """What can be done with this source."""
        fleet = self.fleet_controller
        self.board.archive = fleet is not None and fleet.source.player is not None
        self.board.recorded = source.recorded or self.board.archive
        self.board.signals = source.local and not self.readonly

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
        """Begin to collect, and to tell ages."""
        self._started_at = self.clock.monotonic()
        self.app_resume_signal.subscribe(self, lambda _: self.repaint())
        self._collect()
        self.schedule_pull()  # of a source that knows something already
        if self.incident_controller is not None:
            self.incident_controller.start()
        self._ages = self.set_interval(1.0, self.second)

    def _controller_of(self, source: "FleetSource") -> "FleetController":
        """Loaded where there is a fleet, or an agent is asked: one machine does without."""
        from accelwatch.tui.fleet_controller import FleetController

        return FleetController(self, source)

    def follow_incidents(self) -> "FleetController":
        """Ask this machine's agent for its incidents from now on."""
        if self.incident_controller is None:
            assert self._incidents is not None
            self.incident_controller = self._controller_of(self._incidents())
            self.incident_controller.board.alone = True
            self.board.agent_board = self.incident_controller.board
            self.incident_controller.start()
        return self.incident_controller

    def _collect(self) -> None:
        self._collecting = asyncio.create_task(self.source.run(self.schedule_pull))
        self._collecting.add_done_callback(self.report_task_failure)

    def report_task_failure(self, task: "asyncio.Task[None]") -> None:
        """A task has failed that nobody waits for: end, and tell why."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fail(error) if isinstance(error, Exception) else None

    def changes(self, update: object) -> object:
        """Only what differs from what the terminal shows."""
        return self.cells.changes(update)

    def pop_screen(self) -> AwaitComplete:
        """Back to the screen below, which has not looked at the board since it was covered."""
        result = super().pop_screen()
        for widget in self.screen.query(Painted):
            widget.refresh()
        return result

    def repaint(self) -> None:
        """Everything anew, whatever the terminal shows by now."""
        self.cells.forget()
        self.refresh(layout=True)
        for screen in self.screen_stack:
            for widget in screen.query("*"):
                widget.refresh()

    def on_resize(self, _: events.Resize) -> None:
        """A terminal of another size has moved its lines about."""
        self.cells.forget()

    async def on_unmount(self) -> None:
        """End the collection."""
        if self.incident_controller is not None:
            await self.incident_controller.stop()
        tasks = [
            task
            for task in (self._history_feed.task, self._collecting, *self._stopping_tasks)
            if task
        ]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def follow(self, source: SnapshotSource) -> None:
        """Show another source from now on, as if nothing had been shown before."""
        if self._collecting is not None:
            self._stopping_tasks.add(self._collecting)
            self._collecting.add_done_callback(self._stopping_tasks.discard)
            self._collecting.cancel()
        self.source.close()
        self.source = source
        self._mind(source)
        self._history_feed.clear()
        self.processes.clear()
        self.board.restart()
        self._collect()

    def schedule_pull(self) -> None:
        """There is something new: paint soon, together with what else comes."""
        if self._due:
            return
        self._due = True
        now = self.clock.monotonic()
        young = now - self._started_at < _YOUNG_S
        wait = _GATHER_S if young else max(_TICK_S, self._painted + _GAP_S - now)
        self.set_timer(wait, self.pull)

    def schedule_fleet_pull(self) -> None:
        """The fleet has changed: take it soon, together with what else comes; the first at once."""
        if not self._fleet_due and self.incident_controller is not None:
            self._fleet_due = True
            fleet = self.fleet_controller
            if fleet is not None and fleet.board.view is None:
                self.call_later(self.pull_fleet)
            else:
                self.set_timer(_FLEET_GATHER_S, self.pull_fleet)

    def pull_fleet(self) -> None:
        """Take what the fleet's source has, and show it."""
        self._fleet_due = False
        if self.fleet_controller is not None:
            self.update_banner()
            self.fleet_controller.pull()
            self.board.node_status = self.fleet_controller.node_status
        elif self.incident_controller is not None:
            self.incident_controller.pull()

    def update_banner(self) -> None:
        """Where a recorded fleet is, for the header."""
        fleet = self.fleet_controller
        player = fleet.source.player if fleet is not None else None
        if player is not None:
            from accelwatch.tui.views.time_line import banner as place

            self.board.banner = place(player.playback, self.board.paint.glyphs)

    def pull(self) -> None:
        """Take what the source has, and show it."""
        self._due = False
        self._painted = self.clock.monotonic()
        if self._ages is not None:
            self._ages.reset()
        snapshot = self.source.snapshot()
        if snapshot is None:
            return
        if isinstance(self.source, ReplaySource):
            self._record_passed_frames(self.source)
        if self.fleet_controller is not None:
            snapshot = self.fleet_controller.aged(snapshot)
        self.update_banner()
        if not self.board.archive:
            self._history_feed.note([snapshot])
        self.board.accept(snapshot)
        if self.fleet_controller is None:
            live = not isinstance(self.source, ReplaySource)
            self.using.observe(snapshot, self._painted if live else None)
        if not self.board.paused:
            self.show()

    def _record_passed_frames(self, source: ReplaySource) -> None:
        """Frames that were passed over belong to the history; a jump begins it anew."""
        jumped, passed = source.drain()
        if jumped:
            self.board.forget()
        self._history_feed.note(passed)
        self.board.banner = banner(source, self.board.paint.glyphs)

    def show_message(self, text: str) -> None:
        """Tell something in the place of the keys, for a few seconds."""
        self.board.message = text
        self.keys_changed()
        if self._message_timer is not None:
            self._message_timer.stop()
        self._message_timer = self.set_timer(self.MESSAGE_S, self.unsay)

    def unsay(self) -> None:
        """Give the place back to the keys."""
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
        stack = self.screen_stack
        screen = stack[-1] if stack else None
        return (
            screen
            if screen is not None and screen.is_mounted and isinstance(screen, View)
            else None
        )

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
        position = self.processes.position_of(rows.selected_key)
        return None if position is None else self.processes.rows[position].process

    def second(self) -> None:
        """Ages grow, and a source that has fallen silent makes its devices stale."""
        idle = self.clock.monotonic() - self._painted
        if self.fleet_controller is not None:
            self.board.node_status = self.fleet_controller.node_status
        if (
            self.board.started
            and idle > self.board.preferences.interval_s + 1.0
            and not self.source.recorded
        ):
            self.pull()
        elif idle > self.board.preferences.interval_s and (view := self.view) is not None:
            # A younger picture is about to be replaced, and is painted once.
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
        self,
        result: None = None,
        return_code: int = 0,
        message: RenderableType | None = None,
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
