"""`accelwatch lemons`: devices, slots and nodes whose hardware has failed again and again."""

from collections.abc import Sequence
from typing import Annotated

import click

from accelwatch.base.errors import UnmetError, UsageError
from accelwatch.base.exit_codes import OK
from accelwatch.base.untrusted_text import printable
from accelwatch.cli.hub_requests import HubFlags, fetch_page
from accelwatch.cli.options import command
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.parameters import option
from accelwatch.cli.table_lines import Style, aligned
from accelwatch.fleet.hub_client.documents import decoded
from accelwatch.fleet.lemons.documents import LEAST_FAULTS, FaultNote, Lemon, LemonsPage

_HEADER = ["SCORE", "FAULTS", "BLAMED", "WHERE", "SERIAL", "SLOT", "LAST", "WHY"]
_RIGHT = ("SCORE", "FAULTS")


class FaultHubFlags(HubFlags, frozen=True, kw_only=True):
    """Which hub is queried; scripts pass the flags that all such commands have."""

    agent: Annotated[
        str | None,
        option("--agent", metavar="URL", help="Refused: hubs count faults, agents do not."),
    ] = None


@command
def lemons_command(
    hub: FaultHubFlags,
    least: Annotated[
        int,
        option("--least", metavar="N", help="List what has failed at least N times."),
    ] = LEAST_FAULTS,
    evidence: Annotated[
        bool, option("--evidence", help="Show the faults of each, the latest first.")
    ] = False,
    as_json: Annotated[bool, option("--json", help="As JSON, with the faults of each.")] = False,
) -> None:
    """List the devices, slots and nodes with repeated hardware faults in 28 days, worst first."""
    if least < 1:
        raise UsageError("--least: a number of faults, at least 1")
    document = _fetched(hub, least)
    if as_json:
        write_stdout(document)
        raise click.exceptions.Exit(OK)
    page = decoded(document, LemonsPage)
    _warn(page, least)
    write_stdout("".join(f"{line}\n" for line in _lines(page.lemons, evidence)).encode())
    raise click.exceptions.Exit(OK)


def _fetched(hub: HubFlags, least: int) -> bytes:
    """`LemonsPage` as JSON. Raises AccelwatchError."""
    try:
        return fetch_page(hub, "/v1/lemons", {"least": str(least)})
    except UnmetError as error:
        if "no such page" not in str(error):
            raise
        text = f"{error}: faults are counted by hubs; name one with --hub, or update it"
        raise UnmetError(text) from error


def _warn(page: LemonsPage, least: int) -> None:
    """What makes the list less than it seems, and why it is empty, goes to stderr."""
    for problem in page.problems:
        complain(problem)
    if not page.rules:
        complain("no rules are configured, so no faults are counted")
    elif not page.lemons:
        times = "once" if least == 1 else f"{least} times"
        counted = f"{page.faults} confirmed hardware fault{'s' * (page.faults != 1)}"
        complain(f"nothing failed {times} in {page.days} days ({counted})")


def _lines(lemons: Sequence[Lemon], evidence: bool) -> list[str]:
    if not lemons:
        return []
    rows = [[printable(cell) for cell in _cells(lemon)] for lemon in lemons]
    head, *lines = aligned(_HEADER, rows, Style(), [""] * len(rows), _RIGHT)
    if not evidence:
        return [head, *lines]
    shown = [head]
    for line, lemon in zip(lines, lemons, strict=True):
        shown += [line, *(printable(f"    {_fault(fault)}") for fault in lemon.evidence)]
    return shown


def _cells(lemon: Lemon) -> tuple[str, ...]:
    return (
        f"{lemon.score:.1f}",
        str(lemon.faults),
        lemon.blamed.value,
        lemon.subject,
        lemon.serial or "-",
        lemon.slot or "-",
        lemon.last[:10],
        lemon.reason,
    )


def _fault(fault: FaultNote) -> str:
    """`2026-11-20 03:12 i17 n012/gpu2 GPU has fallen off the bus (nvidia.lost), serial 165`."""
    where = f"{fault.node}/{fault.device}" if fault.device else fault.node
    identity = ((fault.serial, "serial"), (fault.slot, "slot"))
    identities = "".join(f", {name} {value}" for value, name in identity if value)
    time = fault.time[:16].replace("T", " ")
    return f"{time} {fault.incident} {where}: {fault.title} ({fault.rule}){identities}"
