"""`accelwatch remedy spares`: the nodes that can stand in for others, and those that do."""

from typing import Annotated

import click

from accelwatch.base.exit_codes import OK
from accelwatch.base.untrusted_text import printable
from accelwatch.cli.hub_requests import HubOnlyFlags
from accelwatch.cli.options import command
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.parameters import option
from accelwatch.cli.remedy.remedy_outcome import fetch_remedies
from accelwatch.cli.table_lines import columns
from accelwatch.fleet.documents.remedies import SpareDocument, SparesPage
from accelwatch.fleet.hub_client.documents import decoded

_HEADER = ("NODE", "POOL", "RACK", "STATE", "TESTED", "STANDS IN FOR")


@command
def spares_command(
    hub: HubOnlyFlags, as_json: Annotated[bool, option("--json", help="As JSON.")] = False
) -> None:
    """List spare nodes: state, last test, and which node each replaces."""
    document = fetch_remedies(hub, "/v1/spares", {})
    if as_json:
        write_stdout(document)
        raise click.exceptions.Exit(OK)
    page = decoded(document, SparesPage)
    for problem in page.problems:
        complain(problem)
    if not page.acts:
        complain("no actions configured; see remedy.actions in hub.yaml")
    elif not page.spares:
        complain("no spares configured; see remedy.spares.nodes in hub.yaml")
    else:
        lines = columns([_HEADER, *map(_row, page.spares)])
        write_stdout("".join(f"{line}\n" for line in lines).encode())
    raise click.exceptions.Exit(OK)


def _row(spare: SpareDocument) -> tuple[str, ...]:
    tested = spare.tested
    cells = (
        spare.node if spare.node == spare.name else f"{spare.node} ({spare.name})",
        ",".join(spare.pools),
        spare.rack,
        _state(spare),
        "never" if tested is None else tested.partition(".")[0].removesuffix("Z") + "Z",
        " for ".join(filter(None, (spare.replaces, spare.incident))),
    )
    return tuple(printable(cell) for cell in cells)


def _state(spare: SpareDocument) -> str:
    state = spare.state.replace("_", " ")
    if spare.state == "ready" and not spare.usable:
        return f"ready, but {spare.text or 'cannot be used now'}"
    return f"{state}: {spare.text}" if spare.text else state
