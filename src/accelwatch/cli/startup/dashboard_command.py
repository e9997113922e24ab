"""`accelwatch dashboard`: the options of the terminal dashboard."""

import os
from typing import Annotated

import click
import msgspec

from accelwatch.base.errors import UsageError
from accelwatch.cli import view_flags
from accelwatch.cli.collect_flags import MachineOptions
from accelwatch.cli.options import command, shared_option
from accelwatch.cli.parameters import option
from accelwatch.cli.startup.dashboard import SHOWN_GROUPS, run_dashboard
from accelwatch.cli.startup.entry import guarded
from accelwatch.cli.terminal import on_terminal
from accelwatch.node.sampler.protocol.settings import CollectSettings


class DashboardOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is shown, and how."""

    interval: Annotated[
        str | None, option(metavar="DURATION", help="Time between readings: 2, 500ms.")
    ] = None
    replay: Annotated[
        str | None, shared_option("replay", "Play a recording; `demo` is the shipped scenario.")
    ] = None
    theme: view_flags.Theme = None
    ascii_only: view_flags.Ascii = False
    readonly: Annotated[bool, option("--readonly", help="Do not send signals to processes.")] = (
        False
    )
    condition: Annotated[str | None, shared_option("filter")] = None
    machine: MachineOptions = MachineOptions()
    served: Annotated[bool, option("--served", hidden=True)] = False
    loop: Annotated[bool, option("--loop", help="Restart a recording at its end.")] = False


@command
def dashboard_command(options: DashboardOptions) -> None:
    """Live dashboard of all devices."""

    def run() -> int:
        shown = msgspec.structs.asdict(options)
        groups = frozenset() if options.machine.bare else SHOWN_GROUPS
        shown["machine"] = options.machine.over(CollectSettings(groups=groups))
        if not (options.served or on_terminal() or "TEXTUAL_DRIVER" in os.environ):
            raise UsageError(
                "the dashboard needs a terminal to draw on; for a pipe or a file: accelwatch snapshot"
                + (f" --replay {options.replay}" if options.replay else "")
            )
        return run_dashboard(**shown)

    raise click.exceptions.Exit(guarded(run))
