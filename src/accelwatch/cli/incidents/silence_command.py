"""`accelwatch silence`: some incidents notify nobody for a while."""

from typing import Annotated

import click

from accelwatch.alerting.evaluation.silences.documents import SilenceChanged, SilencesPage
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
from accelwatch.cli.parameters import argument
from accelwatch.fleet.hub_client.documents import decoded

_PAGE = "/v1/silences"

silence = Group(
    "silence", help="Mute notifications for matching incidents; they still open and close."
)


@subcommand(silence, "add")
def _add(
    span: SpanFlags,
    hub: HubFlags,
    matchers: Annotated[
        list[str],
        argument(metavar="MATCHER...", help="Such as node=n12 or rule=~nvidia.*; all must hold."),
    ],
    as_json: AsJson = False,
) -> None:
    """Silence incidents by their labels: id, rule, family, severity, node, device, rack, job ..."""
    document = {**spanned(span), "matchers": matchers}
    answer = changed(hub, "POST", _PAGE, document=document)
    reply = decoded(answer, SilenceChanged)
    raise click.exceptions.Exit(print_created(answer, reply, reply.silence, as_json))


@subcommand(silence, "list")
def _list(hub: HubFlags, as_json: AsJson = False) -> None:
    """List active and scheduled silences."""
    answer = fetch_page(hub, _PAGE, {})
    page = decoded(answer, SilencesPage)
    raise click.exceptions.Exit(print_active(answer, page, page.silences, as_json))


@subcommand(silence, "end")
def _expire(
    hub: HubFlags,
    id_: Annotated[str, argument(metavar="ID", help="Id of the silence, such as s3.")],
    by: By = None,
    as_json: AsJson = False,
) -> None:
    """End a silence; incidents that are still open notify then."""
    raise click.exceptions.Exit(expire_and_print(hub, _PAGE, id_, by, as_json))
