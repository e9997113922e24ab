"""`accelwatch odd`: nodes that differ from the many of their kind in what they run."""

from collections.abc import Iterator
from typing import Annotated

import click

from accelwatch.base.exit_codes import OK
from accelwatch.base.names.host_ranges import collapse
from accelwatch.base.untrusted_text import printable
from accelwatch.cli.hub_requests import HubFlags, fetch_page
from accelwatch.cli.options import command
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.parameters import option
from accelwatch.cli.table_lines import columns
from accelwatch.fleet.hub_client.documents import decoded
from accelwatch.fleet.odd.documents import Difference, OddPage

_HEADER = ("GROUP", "FIELD", "USUAL", "DIFFERS", "NODES")


@command
def odd_command(
    hub: HubFlags,
    by: Annotated[
        str | None,
        option("--by", metavar="LABEL", help="Compare within a label of the nodes, such as pool."),
    ] = None,
    as_json: Annotated[bool, option("--json", help="As JSON.")] = False,
) -> None:
    """Show which nodes differ from most of their kind in driver, firmware, VBIOS or kernel."""
    document = fetch_page(hub, "/v1/odd", {"by": by} if by else {})
    if as_json:
        write_stdout(document)
        raise click.exceptions.Exit(OK)
    page = decoded(document, OddPage)
    rows = [row for difference in page.differences for row in _rows(difference)]
    if not rows:
        complain(f"no differences between {page.nodes} nodes")
    else:
        write_stdout("".join(f"{line}\n" for line in columns([_HEADER, *rows])).encode())
    raise click.exceptions.Exit(OK)


def _rows(difference: Difference) -> Iterator[tuple[str, ...]]:
    label, usual = difference.label, difference.usual
    group = f"{difference.group} ({label})" if label else difference.group
    many = f"{difference.usual_nodes} of {difference.nodes} nodes"
    for odd in difference.odd:
        cells = (
            group,
            difference.field,
            "no majority" if usual is None else f"{usual} ({many})",
            odd.value,
            collapse(odd.nodes),
        )
        yield tuple(printable(cell) for cell in cells)
