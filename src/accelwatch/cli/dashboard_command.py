"""`accelwatch dashboard`: the options of the terminal dashboard."""

from typing import Annotated

import typer

from accelwatch.cli import collect_flags
from accelwatch.cli.dashboard import run_dashboard
from accelwatch.cli.entry import guarded
from accelwatch.sampler.settings import CollectSettings


def dashboard_command(
    interval: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Time between readings: 2, 500ms.")
    ] = None,
    replay: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Play a recording; `demo` is the shipped scenario."),
    ] = None,
    theme: Annotated[str | None, typer.Option(help="Colours; T goes through them.")] = None,
    ascii_only: Annotated[bool, typer.Option("--ascii", help="Draw with ASCII only.")] = False,
    readonly: Annotated[bool, typer.Option("--readonly", help="Send no signals.")] = False,
    condition: Annotated[
        str | None,
        typer.Option("--filter", metavar="EXPRESSION", help="Show only these devices."),
    ] = None,
    backend: collect_flags.Backends = None,
    collect: collect_flags.Groups = None,
    root: collect_flags.Root = "/",
    served: Annotated[bool, typer.Option("--served", hidden=True)] = False,
    loop: Annotated[bool, typer.Option("--loop", help="Begin a recording again.")] = False,
) -> None:
    """Show all devices in the terminal, and keep the picture current."""
    code = guarded(
        lambda: run_dashboard(
            machine=collect_flags.collecting(CollectSettings(), root, backend, collect),
            interval=interval,
            replay=replay,
            theme=theme,
            ascii_only=ascii_only,
            readonly=readonly,
            condition=condition,
            loop=loop,
            served=served,
        )
    )
    raise typer.Exit(code)
