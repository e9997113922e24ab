"""`accelwatch check`."""

import gc

import click

from accelwatch.cli.check.check_options import CheckOptions
from accelwatch.cli.options import command


@command
def check_command(options: CheckOptions) -> None:
    """Check this node's health: exit 0 ok, 1 warning, 2 critical, 3 unknown.

    Asks the agent of this machine; without one it reads the devices itself. A healthy node is one line.
    """
    gc.disable()  # a single reading is too short-lived to have garbage
    from accelwatch.cli.check.check import run

    raise click.exceptions.Exit(run(options))
