"""`accelwatch alerts`: send a test notification to the receivers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from accelwatch.base.exit_codes import FAILED, OK
from accelwatch.cli.options import Group, subcommand
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.parameters import argument, option

if TYPE_CHECKING:
    from accelwatch.config.alerts import Alerts

alerts = Group("alerts", help="Send a test notification.")


def alerts_test(file: Path, names: list[str]) -> int:
    """Send a test notice; exit code 1 when one does not arrive. Raises ConfigError, UsageError."""
    import asyncio

    from accelwatch.alerting.delivery.trial import tried
    from accelwatch.alerting.sink import Status
    from accelwatch.base.clock import SystemClock

    outcomes = asyncio.run(tried(_alerts_of(file), names, SystemClock()))
    failed = False
    for name, outcome in outcomes.items():
        if outcome.status is Status.DELIVERED:
            write_stdout(f"{name}: delivered\n".encode())
        else:
            failed = True
            complain(f"{name}: {outcome.status.value}: {outcome.message}")
    return FAILED if failed else OK


def _alerts_of(file: Path) -> "Alerts":
    """The section of a hub's configuration, or of an agent's. Raises ConfigError."""
    from accelwatch.agent.settings_check import checked, read_settings
    from accelwatch.base.errors import ConfigError
    from accelwatch.fleet.hub.model import load_settings

    try:
        return load_settings(file).alerts
    except ConfigError as of_hub:
        try:
            loaded = read_settings(file, {})
            checked(loaded)
        except ConfigError as of_agent:
            # The reader that knows more of its keys decides whose file it is.
            raise min(of_hub, of_agent, key=lambda error: str(error).count("unknown key")) from None
        return loaded.settings.alerts


@subcommand(alerts, "test")
def _test(
    file: Annotated[
        Path,
        option("-c", "--config.file", metavar="FILE", help="A hub's or an agent's file."),
    ],
    sinks: Annotated[
        list[str] | None,
        argument(metavar="[RECEIVER]...", help="Names of receivers; default: all."),
    ] = None,
) -> None:
    """Send a test notification to each receiver of a configuration and report the result."""
    raise click.exceptions.Exit(alerts_test(file, sinks or []))
