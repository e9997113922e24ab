"""`accelwatch hub status`: which of several hubs leads, which others there are, and what is wrong."""

from collections.abc import Iterator
from typing import Annotated

import click

from accelwatch.base.exit_codes import OK
from accelwatch.base.untrusted_text import printable
from accelwatch.cli.hub_requests import HubFlags, fetch_page
from accelwatch.cli.options import command
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.parameters import option
from accelwatch.cli.table_lines import columns
from accelwatch.fleet.documents.hubs import HubDocument, HubsPage
from accelwatch.fleet.hub_client.documents import decoded
from accelwatch.fleet.leader_note import LeaderNote, leader_text

_HEADER = ("HUB", "ADDRESS", "VERSION", "ROLE", "LAST CONTACT", "BEHIND", "RULES")


@command
def status_command(
    hub: HubFlags, as_json: Annotated[bool, option("--json", help="As JSON.")] = False
) -> None:
    """Show which hub leads, the other hubs with the same journal, and whether `auto` is allowed."""
    document = fetch_page(hub, "/v1/hubs", {})
    if as_json:
        write_stdout(document)
        raise click.exceptions.Exit(OK)
    page = decoded(document, HubsPage)
    for problem in page.problems:
        complain(problem)
    write_stdout(status_text(page).encode())
    raise click.exceptions.Exit(OK)


def status_text(page: HubsPage) -> str:
    """The page for people, problems apart."""
    rows = ["", *columns([_HEADER, *map(_row, page.hubs)])] if page.hubs else []
    return "".join(f"{line}\n" for line in (*_summary(page), *rows))


def _summary(page: HubsPage) -> Iterator[str]:
    yield f"leader    {printable(_leader(page))}"
    if page.leads:
        yield f"acts      {'yes' if page.acts else 'no'}"
    yield f"journal   {printable(page.journal)}{_reachable(page)}"
    if page.token is not None:
        yield f"lease     token {page.token}, timeline {page.timeline} of the database"
    if page.auto_allowed is not None:
        refused = f"no: {page.auto_refused}; it counts as approve"
        yield f"auto      {'allowed' if page.auto_allowed else printable(refused)}"


def _leader(page: HubsPage) -> str:
    if not page.shared:
        return "this hub; no other shares its journal" if page.leads else "none: no rules"
    since = "" if page.since is None else f"{page.since.partition('.')[0]}Z"
    note = LeaderNote(
        name=page.leader or "", since=page.since, is_this=page.leads, late_s=page.late_s
    )
    why = f" ({page.waiting})" if page.waiting and page.leader is None else ""
    return f"{leader_text(note, since)}{why}"


def _reachable(page: HubsPage) -> str:
    if page.database_reachable is None:
        return ""
    return ", reachable" if page.database_reachable else ", not reachable"


def _row(hub: HubDocument) -> tuple[str, ...]:
    role = "leads" if hub.leads else "follows"
    rules = f"{hub.rules} ({hub.rules_digest[:8]})" if hub.rules_digest else "none"
    cells = (
        hub.name,
        hub.address or "-",
        hub.version,
        f"{role}, asked" if hub.is_this else role,
        f"{hub.age_s:.0f} s ago",
        f"{hub.late_s:.1f} s",
        rules if hub.has_rules_of_leader is not False else f"{rules}, differ",
    )
    return tuple(printable(cell) for cell in cells)
