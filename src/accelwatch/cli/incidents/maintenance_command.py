"""`accelwatch maintenance`: nodes under repair, which notify nobody meanwhile."""

from typing import Annotated

import click

from accelwatch.alerting.evaluation.silences.documents import MaintenanceChanged, MaintenancePage
from accelwatch.base.errors import UsageError
from accelwatch.base.names.host_ranges import listed
from accelwatch.cli.hub_requests import HubFlags, changed, fetch_page
from accelwatch.cli.incidents.muting_flags import (
    AsJson,
    By,
    SpanFlags,
    expire_and_print,
    print_active,
    print_created,
    spanned,
)
from accelwatch.cli.options import Group, subcommand
from accelwatch.cli.parameters import argument, option
from accelwatch.fleet.hub_client.documents import decoded

_PAGE = "/v1/maintenance"

maintenance = Group(
    "maintenance", help="Announce work on nodes: mutes their incidents and those of their devices."
)


@subcommand(maintenance, "add")
def _add(
    span: SpanFlags,
    hub: HubFlags,
    nodes: Annotated[
        list[str] | None,
        argument(metavar="NODES...", help="Names and ranges, such as n12 or n[1-9]."),
    ] = None,
    every: Annotated[bool, option("--all", help="Every node, instead of NODES.")] = False,
    as_json: AsJson = False,
) -> None:
    """Announce a maintenance window, from now or from a later time."""
    ranges = [name for text in nodes or [] for name in listed(text)]
    if every == bool(ranges):
        raise UsageError("say which nodes, such as n12 or n[1-9], or --all for every node")
    document = {**spanned(span), "nodes": ranges, "all": every}
    answer = changed(hub, "POST", _PAGE, document=document)
    reply = decoded(answer, MaintenanceChanged)
    raise click.exceptions.Exit(print_created(answer, reply, reply.maintenance, as_json))


@subcommand(maintenance, "list")
def _list(hub: HubFlags, as_json: AsJson = False) -> None:
    """List active and scheduled windows."""
    answer = fetch_page(hub, _PAGE, {})
    page = decoded(answer, MaintenancePage)
    raise click.exceptions.Exit(print_active(answer, page, page.maintenance, as_json))


@subcommand(maintenance, "end")
def _expire(
    hub: HubFlags,
    id_: Annotated[str, argument(metavar="ID", help="Id of the window, such as m3.")],
    by: By = None,
    as_json: AsJson = False,
) -> None:
    """End or cancel a window; incidents that are still open notify then."""
    raise click.exceptions.Exit(expire_and_print(hub, _PAGE, id_, by, as_json))
