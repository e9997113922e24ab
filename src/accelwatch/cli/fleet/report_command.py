"""`accelwatch report`: one HTML file about a fleet or a node, for a manager or a vendor's support."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from accelwatch.base import durations
from accelwatch.base.errors import AccelwatchError, UsageError
from accelwatch.base.exit_codes import OK
from accelwatch.cli.hub_requests import HubFlags, fetch_page
from accelwatch.cli.options import command
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.parameters import option
from accelwatch.cli.terminal import on_terminal
from accelwatch.fleet.hub_client.documents import decoded

if TYPE_CHECKING:
    from accelwatch.fleet.report.summary import ReportDocuments

_MOST = "20000"


@command
def report_command(
    hub: HubFlags,
    output: Annotated[
        str | None,
        option("--output", "-o", metavar="FILE", help="Write there; - is standard output."),
    ] = None,
    since: Annotated[
        str, option("--since", metavar="DURATION", help="How far back, such as 24h or 30d.")
    ] = "30d",
    node: Annotated[str, option("--node", metavar="NAME", help="About this node only.")] = "",
) -> None:
    """Write one HTML file: fleet, incidents, repeat offenders, evidence; of one node with --node."""
    if output is None and on_terminal():
        raise UsageError("a report is an HTML file; write: accelwatch report -o report.html")
    start = time.time() - durations.seconds_with_unit(since)
    documents = _documents(hub, since)
    _check_node(hub, documents, start, node)
    # Rendering is loaded when there is something to render.
    from accelwatch.fleet.report.page import report

    text = datetime.fromtimestamp(start, UTC).strftime("%Y-%m-%d %H:%M:%S")
    page = report(documents, start=start, start_text=text, node=node)
    if output in (None, "-"):
        write_stdout(page)
    else:
        _write(Path(output or ""), page)
        complain(f"{output}: {len(page)} bytes")
    raise click.exceptions.Exit(OK)


def _documents(hub: HubFlags, since: str) -> "ReportDocuments":
    """All pages that a report needs. Raises AccelwatchError."""
    from accelwatch.alerting.evaluation.documents import IncidentsPage
    from accelwatch.fleet.avoid.documents import AvoidPage
    from accelwatch.fleet.odd.documents import OddPage
    from accelwatch.fleet.report.summary import ReportDocuments
    from accelwatch.fleet.wire import FleetDocument

    every = {"since": since, "limit": _MOST}
    return ReportDocuments(
        fleet=decoded(fetch_page(hub, "/v1/fleet", {}), FleetDocument),
        incidents=decoded(fetch_page(hub, "/v1/incidents", every), IncidentsPage),
        odd=decoded(fetch_page(hub, "/v1/odd", {}), OddPage),
        avoid=decoded(fetch_page(hub, "/v1/avoid", {}), AvoidPage),
    )


def _check_node(hub: HubFlags, documents: "ReportDocuments", start: float, node: str) -> None:
    """See that there is such a node. Raises UnmetError: the report would be that of a good node.

    One that has left the fleet since is known by its incidents.
    """
    from accelwatch.fleet.hub_client.connection.session import node_path
    from accelwatch.fleet.report.summary import chosen

    if node and not chosen(documents.incidents, start, node):
        fetch_page(hub, node_path(node), {})


def _write(path: Path, page: bytes) -> None:
    from accelwatch.system.files.atomic_file import replace_file

    try:
        replace_file(path, page, mode=0o600, durable=False)
    except OSError as error:
        raise AccelwatchError(f"{path}: cannot be written: {error.strerror}") from error
