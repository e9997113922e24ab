"""`accelwatch fleet`: many nodes on one screen, or as one document on a pipe."""

import click
import msgspec

from accelwatch.base.exit_codes import OK
from accelwatch.cli.fleet.fleet_hub import opened
from accelwatch.cli.fleet.fleet_plan import (
    DisplayOptions,
    PrintOptions,
    StateOptions,
    Targeting,
    checked,
)
from accelwatch.cli.fleet.fleet_replay import NO_REPLAY, Replaying, check_replaying, run_replay
from accelwatch.cli.options import command
from accelwatch.cli.output import emit
from accelwatch.cli.startup.entry import guarded
from accelwatch.cli.terminal import on_terminal


@command
def fleet_command(
    targeting: Targeting,
    printing: PrintOptions,
    state: StateOptions,
    display: DisplayOptions,
    replaying: Replaying,
) -> None:
    """Show every accelerator of many nodes: a dashboard on a terminal, a document on a pipe."""
    targeting = msgspec.structs.replace(
        targeting, state_dir=state.state_dir, no_state=state.no_state
    )
    display = msgspec.structs.replace(display, condition=printing.condition)
    code = guarded(lambda: run_fleet(targeting, printing, display, replaying))
    if code != OK:
        raise click.exceptions.Exit(code)


def run_fleet(
    targeting: Targeting,
    printing: PrintOptions,
    display: DisplayOptions,
    replaying: Replaying = NO_REPLAY,
) -> int:
    """Show the fleet until the user quits, or print it; returns the exit code.

    Raises AccelwatchError; what is wrong with targets and files before the terminal is touched.
    """
    if printing.fields == "help":
        from accelwatch.cli.node.snapshot import fields_help
        from accelwatch.expr import device_names

        emit(printing.output, fields_help(device_names().rows).encode(), printing.permissions)
        return OK
    checked(printing)
    check_replaying(replaying, targeting, printing)
    printed = printing.one_shot or printing.once or not on_terminal()
    if replaying.replay is not None:
        return run_replay(replaying, printing, display, printed=printed)
    with opened(msgspec.structs.replace(targeting, printed=printed)) as hub:
        if printed:
            from accelwatch.cli.fleet.fleet_once import run_once

            return run_once(hub, printing)
        from accelwatch.cli.fleet.fleet_dashboard import run_fleet_dashboard

        return run_fleet_dashboard(hub, display)
