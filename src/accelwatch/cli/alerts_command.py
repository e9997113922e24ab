"""`accelwatch alerts`: try whether somebody is told."""

from pathlib import Path
from typing import Annotated

import typer

from accelwatch.cli.output import complain, write_stdout
from accelwatch.exit_codes import NOTHING_READ, OK

alerts = typer.Typer(
    name="alerts",
    help="Try who is told of incidents.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@alerts.callback()
def _group() -> None:
    """Try who is told of incidents."""


def alerts_test(file: Path, names: list[str]) -> int:
    """Send a test notice; exit code 1 when one does not arrive. Raises ConfigError, UsageError."""
    import asyncio

    from accelwatch.alert import Status
    from accelwatch.clock import SystemClock
    from accelwatch.delivery.trial import tried
    from accelwatch.fleet.hub.model import load_settings

    outcomes = asyncio.run(tried(load_settings(file).alerts, names, SystemClock()))
    failed = False
    for name, outcome in outcomes.items():
        if outcome.status is Status.DELIVERED:
            write_stdout(f"{name}: delivered\n".encode())
        else:
            failed = True
            complain(f"{name}: {outcome.status.value}: {outcome.message}")
    return NOTHING_READ if failed else OK


@alerts.command("test")
def _test(
    file: Annotated[
        Path, typer.Option("-c", "--config.file", metavar="FILE", help="The hub's configuration.")
    ],
    sinks: Annotated[
        list[str] | None, typer.Argument(metavar="[SINK]...", help="Names; without one all.")
    ] = None,
) -> None:
    """Send a test notice to sinks of a hub's configuration, and say what became of it."""
    raise typer.Exit(alerts_test(file, sinks or []))
