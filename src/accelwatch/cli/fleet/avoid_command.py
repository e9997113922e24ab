"""`accelwatch avoid`: the nodes to keep new jobs off now, as a table or as launchers read them."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated

import click
import msgspec
import yaml

from accelwatch.base.exit_codes import FAILED, OK
from accelwatch.base.names.host_ranges import collapse
from accelwatch.base.untrusted_text import printable
from accelwatch.cli.hub_requests import HubFlags, fetch_page
from accelwatch.cli.options import command
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.parameters import option
from accelwatch.cli.table_lines import columns
from accelwatch.fleet.avoid.documents import AvoidPage, AvoidReason, NodeToAvoid
from accelwatch.fleet.hub_client.documents import decoded

_HEADER = ("NODE", "REASON", "SINCE", "INCIDENT", "WHAT")


class Format(StrEnum):
    """Forms of the answer."""

    TABLE = "table"
    JSON = "json"
    SLURM = "slurm"
    HOSTFILE = "hostfile"
    K8S = "k8s"


class AvoidFlags(msgspec.Struct, frozen=True, kw_only=True):
    """Which reasons count, and how the nodes are written."""

    form: Annotated[
        Format,
        option(
            "--format",
            help="slurm: for sbatch --exclude; hostfile: one name per line; k8s: for spec.affinity.",
        ),
    ] = Format.TABLE
    severity: Annotated[
        str | None,
        option(
            "--severity",
            metavar="WORD",
            help="Count incidents of this severity and above; default: critical.",
        ),
    ] = None
    reason: Annotated[
        str | None,
        option(
            "--reason",
            metavar="WORDS",
            help="Only these: incident, quarantined, unreachable, maintenance.",
        ),
    ] = None
    within: Annotated[
        str | None,
        option(
            "--within",
            metavar="DURATION",
            help="Also count maintenance that starts within this time, such as 4h.",
        ),
    ] = None


@command
def avoid_command(flags: AvoidFlags, hub: HubFlags) -> None:
    """List the nodes to keep new jobs off now: quarantined, faulty, unreachable, in maintenance.

    `bad=$(accelwatch avoid --format slurm) && sbatch --exclude="$bad" job.sh`
    """
    query = {"severity": flags.severity, "reason": flags.reason, "within": flags.within}
    document = fetch_page(hub, "/v1/avoid", {key: text for key, text in query.items() if text})
    page = decoded(document, AvoidPage)
    if flags.form is Format.JSON:
        write_stdout(document)
    else:
        _warn(page)
        write_stdout(_WRITERS[flags.form](page.nodes).encode())
    # A launcher that checks with `&&` does not start on nodes of which nobody has answered.
    raise click.exceptions.Exit(OK if page.whole else FAILED)


def _warn(page: AvoidPage) -> None:
    """What makes the list less than it seems goes to stderr."""
    for problem in page.problems:
        complain(problem)
    if not page.rules:
        complain("no rules are configured, so faults of devices are not in this list")
    if page.nodes_total and len(page.nodes) == page.nodes_total:
        complain("every node is in this list; `accelwatch why` says what is wrong")


def _names(nodes: Sequence[NodeToAvoid]) -> list[str]:
    """As a scheduler and ssh know the nodes: its scheduler's name, else the hub's."""
    return [node.scheduler_name or node.node for node in nodes]


def _slurm(nodes: Sequence[NodeToAvoid]) -> str:
    return collapse(_names(nodes)) + "\n"


def _hostfile(nodes: Sequence[NodeToAvoid]) -> str:
    return "".join(f"{name}\n" for name in _names(nodes))


def _k8s(nodes: Sequence[NodeToAvoid]) -> str:
    """An affinity; without nodes an empty one, since `NotIn` without values is invalid."""
    if not nodes:
        return "{}\n"
    excluded = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": _names(nodes)}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [excluded]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return str(yaml.safe_dump(affinity, sort_keys=False))


def _table(nodes: Sequence[NodeToAvoid]) -> str:
    rows = [_row(node.node, reason) for node in nodes for reason in node.reasons]
    return "".join(f"{line}\n" for line in columns([_HEADER, *rows])) if rows else ""


def _row(node: str, reason: AvoidReason) -> tuple[str, ...]:
    since = reason.since
    what = f"{reason.device}: {reason.text}" if reason.device else reason.text
    cells = (
        node,
        reason.kind.value,
        "-" if since is None else since.partition(".")[0].removesuffix("Z") + "Z",
        reason.incident or "-",
        what,
    )
    return tuple(printable(cell) for cell in cells)


_WRITERS: Mapping[Format, Callable[[Sequence[NodeToAvoid]], str]] = MappingProxyType(
    {
        Format.TABLE: _table,
        Format.SLURM: _slurm,
        Format.HOSTFILE: _hostfile,
        Format.K8S: _k8s,
    }
)
