"""The dashboard over a hub; the hub is ready, or its error printed, before the terminal is touched."""

import asyncio
import os
import sys
from typing import TYPE_CHECKING

from accelwatch.base.durations import reading_interval
from accelwatch.base.errors import ExpressionError, UsageError
from accelwatch.base.exit_codes import OK
from accelwatch.cli.fleet.fleet_hub import Hub
from accelwatch.cli.fleet.fleet_plan import DisplayOptions, Show
from accelwatch.cli.startup.dashboard import override, run_to_end
from accelwatch.schema.display import utf8

if TYPE_CHECKING:
    from accelwatch.fleet.picture.model import FleetSource
    from accelwatch.fleet.targets.hub_endpoint import HubEndpoint
    from accelwatch.tui.app import Dashboard


def run_fleet_dashboard(hub: Hub, display: DisplayOptions, show: Show | None = None) -> int:
    """Show the fleet until its user quits; returns the exit code. Raises AccelwatchError.

    With something to `show`, the terminal says at once what is being started.
    """
    from accelwatch.tui.startup.starting_picture import starting_picture
    from accelwatch.tui.terminal.alternate_screen import own_terminal

    terminal = None if show is None else own_terminal()
    with starting_picture(show.starting if show is not None else "", terminal):
        app = _dashboard(hub, display)
    assert app.fleet_controller is not None
    if show is not None:
        board = app.fleet_controller.board
        board.starting, board.demo_events = f"{show.starting} ...", show.demo_events
    run_to_end(app)
    return OK


def _dashboard(hub: Hub, display: DisplayOptions) -> "Dashboard":
    from accelwatch.tui.theme.preferences import load, path_of

    path = path_of(os.environ)
    preferences, complaint = load(path)
    override(preferences, None, display.theme)
    if display.interval is not None:
        preferences.fleet_interval_s = reading_interval(display.interval)
    from accelwatch.tui.app import Dashboard
    from accelwatch.tui.state.board import Board
    from accelwatch.tui.theme.appearance import appearance_for

    hub.wait()
    appearance = appearance_for(os.environ, utf8=utf8(sys.stdout), ascii_only=display.ascii_only)
    source = _source(hub)
    app = Dashboard(
        Board(preferences, appearance),
        None,
        fleet=source,
        readonly=display.readonly,
        preferences_path=path,
    )
    if display.condition:
        _filter(app, source, hub, display.condition)
    if message := complaint or hub.remark():
        app.call_later(app.show_message, message)
    return app


def _source(hub: Hub) -> "FleetSource":
    if not hub.more:
        from accelwatch.fleet.hub_client.source import HubSource

        return HubSource(hub.address, exit_reason=hub.exit_reason)
    from accelwatch.fleet.hub_client.several.source import SeveralHubs

    return SeveralHubs(hub.addresses)


def _filter(app: "Dashboard", source: "FleetSource", hub: Hub, text: str) -> None:
    """The filter of the command line. Which labels it may name, only the hub knows by now.

    Raises UsageError.
    """
    assert app.fleet_controller is not None
    try:
        app.fleet_controller.set_filter(text)
    except ExpressionError:
        asyncio.run(_checked(hub, text))
        app.fleet_controller.board.filter_text = app.fleet_controller.board.condition = text
        source.set_filter(text)


async def _checked(hub: Hub, text: str) -> None:
    from accelwatch.fleet.hub_client.connection.session import HubSession
    from accelwatch.fleet.hub_client.once import check_filter
    from accelwatch.fleet.hub_client.several.fan_out import gathered

    async def check(address: "HubEndpoint") -> None:
        session = HubSession(address)
        try:
            await check_filter(session, text)
        finally:
            await session.close()

    _, refusals = await gathered([check(address) for address in hub.addresses], UsageError)
    if len(refusals) == len(hub.addresses):
        raise refusals[0]
