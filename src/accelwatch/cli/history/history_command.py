"""`accelwatch history`: what is in an archive, whether it is well, and one made from a store."""

from pathlib import Path
from typing import Annotated

import click

from accelwatch.base.exit_codes import OK
from accelwatch.cli.history.archive_export import StoreAccess, history_export
from accelwatch.cli.history.archive_report import history_check, history_show
from accelwatch.cli.options import Group, subcommand
from accelwatch.cli.parameters import argument, option
from accelwatch.schema.display import stdout_is_terminal

history = Group("history", help="Show, check and export a fleet's history as Parquet files.")

_Folder = Annotated[Path, argument(metavar="DIR", help="The archive.")]
_Json = Annotated[bool, option("--json", help="As JSON.")]


@subcommand(history, "show")
def _show(folder: _Folder, as_json: _Json = False) -> None:
    """Show what is in an archive: span, nodes, devices, columns, size."""
    raise click.exceptions.Exit(history_show(folder, as_json))


@subcommand(history, "check")
def _check(folder: _Folder, as_json: _Json = False) -> None:
    """Report every mistake with file and row group; exit code 1 if any."""
    raise click.exceptions.Exit(history_check(folder, as_json))


@subcommand(history, "export")
def _export(
    prometheus: Annotated[
        str,
        option("--prometheus", metavar="URL", help="A store with Prometheus' query API."),
    ],
    output: Annotated[
        Path, option("-o", "--output", metavar="DIR", help="The archive, a new folder.")
    ],
    start: Annotated[
        str, option("--from", metavar="TIME", help="2026-03-01, ...T12:00:00Z, or 7d (before now).")
    ],
    end: Annotated[str, option("--to", metavar="TIME", help="As --from.")] = "now",
    interval: Annotated[
        str, option("--interval", metavar="DURATION", help="Time between two samples.")
    ] = "30s",
    node_label: Annotated[
        list[str] | None,
        option(
            "--node-label", metavar="NAME", help="The label that names the node; may be repeated."
        ),
    ] = None,
    matchers: Annotated[
        str, option("--matchers", metavar="TEXT", help='Added to every query: cluster="a".')
    ] = "",
    tenant: Annotated[str, option("--tenant", metavar="NAME", help="Sent as X-Scope-OrgID.")] = "",
    user: Annotated[
        str, option("--user", metavar="NAME", help="User name, with --password-file.")
    ] = "",
    password_file: Annotated[
        str | None, option("--password-file", metavar="FILE", help="The user's password.")
    ] = None,
    token_file: Annotated[
        str | None, option("--token-file", metavar="FILE", help="A bearer token.")
    ] = None,
    ca_file: Annotated[
        str | None, option("--ca-file", metavar="FILE", help="Certificate authority of the store.")
    ] = None,
) -> None:
    """Create an archive from a Prometheus-compatible store; exit code 1 if it has no data."""
    access = StoreAccess(
        url=prometheus,
        node_label=tuple(node_label or ()),
        matchers=matchers,
        tenant=tenant,
        user=user,
        password_file=password_file,
        token_file=token_file,
        ca_file=ca_file,
    )
    code = history_export(access, start, end, output, interval)
    if code == OK and stdout_is_terminal():
        history_show(output, as_json=False)
    raise click.exceptions.Exit(code)
