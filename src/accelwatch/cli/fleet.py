"""`accelwatch fleet`: many nodes on one screen, or as one document on a pipe."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from accelwatch.cli import target_flags, view_flags
from accelwatch.cli.completion import completer
from accelwatch.cli.entry import guarded, on_terminal
from accelwatch.cli.fleet_plan import Asking, Look, Targeting, checked, opened
from accelwatch.cli.output import emit
from accelwatch.exit_codes import OK


def fleet_command(
    targets: target_flags.Static = None,
    targets_file: target_flags.Files = None,
    targets_http: target_flags.Http = None,
    targets_dns: target_flags.Dns = None,
    targets_kubernetes: target_flags.Kubernetes = None,
    targets_slurm: target_flags.Slurm = False,
    prometheus: target_flags.Prometheus = None,
    config_file: target_flags.ConfigFile = None,
    hub: Annotated[
        str | None,
        typer.Option(
            "--hub", metavar="URL", help="Ask this hub, http://host:9878, instead of the nodes."
        ),
    ] = None,
    hub_config_file: Annotated[
        Path | None,
        typer.Option(
            "--hub.config.file",
            metavar="FILE",
            help="Credentials and TLS for --hub (docs/fleet/dashboard.md).",
        ),
    ] = None,
    condition: Annotated[
        str,
        typer.Option(
            "--filter", "-f", metavar="EXPR", help="Only devices for which the expression is true."
        ),
    ] = "",
    json: view_flags.Json = False,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="table, json, csv or prometheus.",
            autocompletion=completer("fleet_formats"),
        ),
    ] = None,
    devices: Annotated[
        bool, typer.Option("--devices", help="A row a device instead of a row a node.")
    ] = False,
    by: view_flags.By = None,
    fields: Annotated[
        str | None,
        typer.Option(
            "--fields",
            metavar="A,B,C",
            help="These quantities of each device; 'help' lists them.",
            autocompletion=completer("fields"),
        ),
    ] = None,
    timeout: Annotated[
        str, typer.Option(metavar="DURATION", help="How long nodes may take to answer.")
    ] = "5s",
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 6 when a node or device is not heard of or lost.")
    ] = False,
    watch: Annotated[
        str | None,
        typer.Option("--watch", "-w", metavar="[INTERVAL]", help="Print again every INTERVAL."),
    ] = None,
    count: Annotated[
        int | None, typer.Option("--count", "-n", metavar="N", help="With --watch: stop after N.")
    ] = None,
    once: view_flags.Once = False,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Write there; '-' is stdout.")
    ] = "-",
    pretty: Annotated[bool, typer.Option("--pretty", help="Indented JSON.")] = False,
    color: view_flags.Color = "auto",
    state_dir: Annotated[
        str | None,
        typer.Option("--state-dir", metavar="DIR", help="Where the expected inventory is kept."),
    ] = None,
    no_state: Annotated[
        bool, typer.Option("--no-state", help="Keep no inventory: expect only what is seen now.")
    ] = False,
    interval: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Time between two pictures: 2, 500ms.")
    ] = None,
    theme: view_flags.Theme = None,
    ascii_only: view_flags.Ascii = False,
) -> None:
    """Show every accelerator of many nodes: a dashboard on a terminal, a document on a pipe."""
    asking = Asking(
        json=json,
        format=form,
        devices=devices,
        by=by,
        condition=condition,
        fields=fields,
        timeout=timeout,
        strict=strict,
        watch=watch,
        count=count,
        output=output,
        pretty=pretty,
        color=color,
    )
    wanted = Targeting(
        followed=target_flags.followed(
            targets, targets_file, targets_http, targets_dns, targets_kubernetes, targets_slurm
        ),
        prometheus=prometheus,
        config_file=config_file,
        hub=hub,
        hub_config_file=hub_config_file,
        state_dir=state_dir,
        no_state=no_state,
    )
    look = Look(interval=interval, theme=theme, ascii_only=ascii_only, condition=condition)
    raise typer.Exit(guarded(lambda: run_fleet(wanted, asking, look, once=once)))


def run_fleet(wanted: Targeting, asking: Asking, look: Look, *, once: bool) -> int:
    """Show the fleet until the user quits, or print it; returns the exit code.

    Raises AccelwatchError; what is wrong with targets and files before the terminal is touched.
    """
    if asking.fields == "help":
        from accelwatch.cli.snapshot import fields_help
        from accelwatch.expr import device_names

        emit(asking.output, fields_help(device_names().rows).encode())
        return OK
    checked(asking)
    printed = asking.one_shot or once or not on_terminal()
    with opened(msgspec.structs.replace(wanted, printed=printed)) as hub:
        if printed:
            from accelwatch.cli.fleet_once import run_once

            return run_once(hub, asking)
        from accelwatch.cli.fleet_dashboard import run_fleet_dashboard

        return run_fleet_dashboard(hub, look)
