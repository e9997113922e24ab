"""How each screen is made, by name; a screen is loaded when it is first opened.

A further screen is a row here and a `screen_<name>` row in the table of actions.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.screen import Screen

from accelwatch.tui.context import DashboardContext

if TYPE_CHECKING:
    from accelwatch.tui.events.changes import Change

Opening = Callable[[DashboardContext], Screen[None]]


def _local(app: DashboardContext) -> Screen[None]:
    from accelwatch.tui.screens.local import LocalScreen

    return LocalScreen(app.board, app.processes, app.clock.wall)


def _fleet(app: DashboardContext) -> Screen[None]:
    from accelwatch.tui.screens.fleet import FleetScreen

    controller = app.fleet_controller
    assert controller is not None
    return FleetScreen(
        app.board,
        controller.board,
        controller.now,
        controller.source.player,
        history=controller.totals.newest,
    )


def _device(app: DashboardContext) -> Screen[None]:
    from accelwatch.tui.screens.pages import device_screen

    return device_screen(app.board, app.clock.wall)


def _processes(app: DashboardContext) -> Screen[None]:
    from accelwatch.tui.screens.processes import ProcessesScreen

    return ProcessesScreen(app.board, app.processes, app.clock.wall)


def _doctor(app: DashboardContext) -> Screen[None]:
    from accelwatch.tui.screens.pages import doctor_screen

    return doctor_screen(app.board, app.clock.wall)


def _topology(app: DashboardContext) -> Screen[None]:
    from accelwatch.tui.screens.pages import topology_screen

    return topology_screen(app.board, app.clock.wall)


def _usage(app: DashboardContext) -> Screen[None]:
    from accelwatch.node.usage.ledger import By
    from accelwatch.node.usage.queries import window_of
    from accelwatch.node.usage.report import UsageReport
    from accelwatch.tui.screens.usage import usage_screen

    controller = app.fleet_controller

    def read_usage(by: By, since: str) -> tuple[UsageReport | None, str]:
        if controller is not None:
            return controller.usage.newest(by.value, since), controller.usage.problem
        snapshot = app.board.snapshot
        if not snapshot.devices:
            return None, "no device is known"
        return app.using.report(snapshot, by, window_of(since)), ""

    return usage_screen(app.board, app.clock.wall, read_usage)


def _help(app: DashboardContext) -> Screen[None]:
    from accelwatch.tui.screens.pages import help_screen

    return help_screen(app.board, app.clock.wall, app.view_name)


def _problems(app: DashboardContext) -> Screen[None]:
    from accelwatch.tui.screens.pages import problems_screen

    assert app.fleet_controller is not None
    return problems_screen(app.board, app.fleet_controller.board, app.clock.wall)


def _incidents(app: DashboardContext) -> Screen[None]:
    from accelwatch.tui.screens.incidents import IncidentsScreen

    controller = app.incident_controller
    assert controller is not None
    return IncidentsScreen(app.board, controller.board, controller.now)


def _events(app: DashboardContext) -> Screen[None]:
    from accelwatch.tui.screens.events import EventsScreen

    if app.fleet_controller is None:
        return EventsScreen(app.board, app.board.changes.rows, app.clock.wall)
    from accelwatch.tui.events.fleet_changes import FleetChanges

    controller, fleet_changes = app.fleet_controller, FleetChanges()

    def changes() -> "Sequence[Change]":
        return fleet_changes.rows(controller.board.view)

    return EventsScreen(app.board, changes, controller.now)


def _settings(app: DashboardContext) -> Screen[None]:
    from accelwatch.tui.screens.settings import SettingsScreen

    return SettingsScreen(
        app.board, app.preferences_path, app.clock.wall, app.commands.preferences_changed
    )


# Local, or with a fleet Fleet, is always there, below all others.
OPENINGS: dict[str, Opening] = {
    "local": _local,
    "fleet": _fleet,
    "device": _device,
    "processes": _processes,
    "doctor": _doctor,
    "incidents": _incidents,
    "topology": _topology,
    "usage": _usage,
    "events": _events,
    "help": _help,
    "problems": _problems,
    "settings": _settings,
}
