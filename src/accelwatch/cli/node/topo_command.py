"""`accelwatch topo`: how near devices and network adapters are to each other."""

import sys
from pathlib import Path
from typing import Annotated

import click
import msgspec

from accelwatch.base.durations import deadline
from accelwatch.cli.collect_flags import MachineOptions
from accelwatch.cli.node.documents import narrate, status
from accelwatch.cli.node.table import no_devices_text
from accelwatch.cli.options import command, shared_option
from accelwatch.cli.output import write_stdout
from accelwatch.cli.parameters import option
from accelwatch.cli.table_lines import Style, aligned
from accelwatch.node.topology.matrix import Topology, topology
from accelwatch.node.topology.table import legend, table
from accelwatch.schema.display import colour

# The opt-in group of single links.
_LINKS = "links"


@command
def topo_command(
    machine: MachineOptions,
    as_json: Annotated[bool, option("--json", help="As JSON.")] = False,
    timeout: Annotated[str, shared_option("timeout", "Deadline of the reading.")] = "5s",
    color: Annotated[str, shared_option("color")] = "auto",
) -> None:
    """Show links, PCIe and NUMA distance between devices and network adapters of this machine."""
    from accelwatch.node.sampler.protocol.settings import CollectSettings
    from accelwatch.node.snapshots import read_once
    from accelwatch.schema.snapshot import NO_ACCELERATORS

    settings = machine.over(
        CollectSettings(one_shot=True, timeout_s=deadline(timeout), without=NO_ACCELERATORS)
    )
    groups = settings.groups | {_LINKS}
    snapshot = read_once(msgspec.structs.replace(settings, groups=groups))
    layout = topology(snapshot, Path(machine.root))
    style = Style(colour=colour(color, sys.stdout))
    narrate(snapshot)
    if as_json:
        document = msgspec.json.encode(layout) + b"\n"
    elif layout.members or snapshot.devices:
        document = text_of(layout, style).encode()
    else:
        document = f"{no_devices_text(snapshot)}\n".encode()
    write_stdout(document)
    raise click.exceptions.Exit(status(snapshot, strict=False))


def text_of(layout: Topology, style: Style) -> str:
    """The matrix, and what its words mean."""
    if not layout.members:
        return "no device and no network adapter on a PCI bus\n"
    header, rows = table(layout)
    lines = [*aligned(header, rows, style, [""] * len(rows)), "", *legend(layout)]
    return "".join(f"{line}\n" for line in lines)
