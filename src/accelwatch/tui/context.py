"""What commands and screens need of the dashboard, without the application that they are part of."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from textual.geometry import Size
from textual.screen import Screen

if TYPE_CHECKING:
    import asyncio

    from accelwatch.base.clock import Clock
    from accelwatch.fleet.picture.source import SnapshotSource
    from accelwatch.fleet.wire import IncidentNow
    from accelwatch.schema.reading import Process
    from accelwatch.tui.feeds.fleet_controller import FleetController
    from accelwatch.tui.local.own_usage import OwnUsage
    from accelwatch.tui.state.board import Board
    from accelwatch.tui.state.filtering import Filtering
    from accelwatch.tui.views.process_list import ProcessList
    from accelwatch.tui.widgets.row_list import RowList

_Result = TypeVar("_Result")


@runtime_checkable
class View(Protocol):
    """A screen of the dashboard."""

    view_name: str

    def show(self) -> None:
        """The board has changed."""
        ...

    def show_age(self) -> None:
        """A second has passed."""
        ...

    def perform(self, action: str) -> bool:
        """Handle a key's action; false when this screen has no use for it."""
        ...


class DialogContext(Protocol):
    """Where a dialog opens, and a message is shown."""

    @property
    def board(self) -> "Board":
        """What is known and set."""
        ...

    @property
    def screen(self) -> Screen[object]:
        """The present screen, a dialog too."""
        ...

    @property
    def size(self) -> Size:
        """Columns and lines of the terminal."""
        ...

    def push_screen(
        self, screen: Screen[_Result], callback: Callable[[_Result | None], None] | None = None
    ) -> object:
        """Open a screen; `callback` gets what a dialog returns, None where it was left."""
        ...

    def show(self) -> None:
        """Paint the present screen."""
        ...

    def show_message(self, text: str) -> None:
        """Show a text in the footer, over the keys, for a few seconds."""
        ...


class Commanding(Protocol):
    """What one command needs of the others."""

    @property
    def numbered(self) -> tuple[tuple[str, str], ...]:
        """(key, name) of the screens that there are."""
        ...

    @property
    def current_incident(self) -> "IncidentNow | None":
        """The incident that the keys are about."""
        ...

    def open(self, name: str) -> None:
        """Show a screen by name."""
        ...

    def sorts(self) -> "Sequence[tuple[str, Callable[[], None]]]":
        """What the tables on the screen can be sorted by."""
        ...

    def filtering(self) -> "Filtering | None":
        """How the present screen is filtered."""
        ...

    def preferences_changed(self) -> None:
        """A setting was changed."""
        ...


class DashboardContext(DialogContext, Protocol):
    """What a key may need: sources, screens, the selected process, the fleet."""

    @property
    def source(self) -> "SnapshotSource":
        """Where snapshots come from."""
        ...

    @property
    def clock(self) -> "Clock":
        """Wall clock and monotonic time."""
        ...

    @property
    def readonly(self) -> bool:
        """Whether nothing may be changed."""
        ...

    @property
    def preferences_path(self) -> Path:
        """Where settings are written."""
        ...

    @property
    def using(self) -> "OwnUsage":
        """Who uses this machine's devices."""
        ...

    @property
    def processes(self) -> "ProcessList":
        """The processes of the machine that is shown."""
        ...

    @property
    def process_list(self) -> "RowList | None":
        """The list of processes on the present screen."""
        ...

    @property
    def chosen_process(self) -> "Process | None":
        """The selected process, if the keys go to processes."""
        ...

    @property
    def fleet_controller(self) -> "FleetController | None":
        """The fleet that is followed."""
        ...

    @property
    def incident_controller(self) -> "FleetController | None":
        """Where incidents come from: the fleet, or this machine's agent once it is polled."""
        ...

    @property
    def commands(self) -> Commanding:
        """The other commands."""
        ...

    @property
    def base(self) -> str:
        """Name of the screen below all others."""
        ...

    @property
    def view_name(self) -> str:
        """Name of the present screen; empty under a dialog."""
        ...

    @property
    def view(self) -> View | None:
        """The present screen; None under a dialog."""
        ...

    @property
    def screen_stack(self) -> Sequence[Screen[Any]]:
        """The open screens, the present one last."""
        ...

    def pop_screen(self) -> object:
        """Close the present screen."""
        ...

    def call_after_refresh(self, callback: Callable[[], None]) -> bool:
        """Call once what is due is painted."""
        ...

    def action_do(self, action_id: str) -> None:
        """Do what a key would."""
        ...

    def follow_incidents(self) -> "FleetController":
        """Poll this machine's agent for its incidents from now on."""
        ...

    def report_task_failure(self, task: "asyncio.Task[None]") -> None:
        """End with the error of a task that nobody waits for."""
        ...

    def set_theme(self, name: str) -> None:
        """Paint in another palette."""
        ...

    def repaint(self) -> None:
        """Send everything again."""
        ...

    def pull(self) -> None:
        """Show what the source has."""
        ...

    def pull_fleet(self) -> None:
        """Show what the fleet's source has."""
        ...

    def copy_to_clipboard(self, text: str) -> None:
        """Hand a text to the terminal's clipboard."""
        ...

    def suspend_job(self) -> bool:
        """Give the terminal back to the shell; false where none waits."""
        ...

    def exit(self) -> None:
        """End the program."""
        ...
