"""`accelwatch fleet`: many nodes on one screen, or as one document on a pipe."""

import msgspec

from accelwatch.base.exit_codes import OK
from accelwatch.cli.fleet.fleet_plan import Asking, Keeping, Look, Targeting, checked, opened
from accelwatch.cli.fleet.fleet_replay import NO_REPLAY, Replaying, check_replaying, run_replay
from accelwatch.cli.options import command
from accelwatch.cli.output import emit
from accelwatch.cli.startup.entry import guarded
from accelwatch.cli.terminal import on_terminal


@command
def fleet_command(
    wanted: Targeting, asking: Asking, keeping: Keeping, look: Look, replaying: Replaying
) -> None:
    """Show every accelerator of many nodes: a dashboard on a terminal, a document on a pipe."""
    wanted = msgspec.structs.replace(wanted, state_dir=keeping.state_dir, no_state=keeping.no_state)
    look = msgspec.structs.replace(look, condition=asking.condition)
    code = guarded(lambda: run_fleet(wanted, asking, look, replaying))
    if code != OK:
        import typer

        raise typer.Exit(code)


def run_fleet(
    wanted: Targeting, asking: Asking, look: Look, replaying: Replaying = NO_REPLAY
) -> int:
    """Show the fleet until the user quits, or print it; returns the exit code.

    Raises AccelwatchError; what is wrong with targets and files before the terminal is touched.
    """
    if asking.fields == "help":
        from accelwatch.cli.node.snapshot import fields_help
        from accelwatch.expr import device_names

        emit(asking.output, fields_help(device_names().rows).encode(), asking.permissions)
        return OK
    checked(asking)
    check_replaying(replaying, wanted, asking)
    printed = asking.one_shot or asking.once or not on_terminal()
    if replaying.replay is not None:
        return run_replay(replaying, asking, look, printed=printed)
    with opened(msgspec.structs.replace(wanted, printed=printed)) as hub:
        if printed:
            from accelwatch.cli.fleet.fleet_once import run_once

            return run_once(hub, asking)
        from accelwatch.cli.fleet.fleet_dashboard import run_fleet_dashboard

        return run_fleet_dashboard(hub, look)
