"""`accelwatch topo`: how near devices and network adapters are to each other."""

import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from accelwatch.cli.collect_flags import MachineOptions
from accelwatch.cli.options import command, row
from accelwatch.cli.output import write_stdout
from accelwatch.cli.table import Style, aligned
from accelwatch.display import colour
from accelwatch.durations import deadline
from accelwatch.exit_codes import NO_DEVICE, OK
from accelwatch.topology.matrix import Member, Topology, topology
from accelwatch.topology.relations import WORDS
from accelwatch.untrusted_text import printable

_LINKS = "links"
"""The opt-in group of single links."""


@command
def topo_command(
    machine: MachineOptions,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    timeout: Annotated[str, row("timeout", "For the reading.")] = "5s",
    color: Annotated[str, row("color")] = "auto",
) -> None:
    """Show links, PCIe and NUMA distance between devices and network adapters of this machine."""
    from accelwatch.sampler.settings import NO_ACCELERATORS, CollectSettings
    from accelwatch.snapshots import read_once

    settings = machine.over(
        CollectSettings(one_shot=True, timeout_s=deadline(timeout), without=NO_ACCELERATORS)
    )
    groups = settings.groups | {_LINKS}
    snapshot = read_once(msgspec.structs.replace(settings, groups=groups))
    known = topology(snapshot, Path(machine.root))
    style = Style(colour=colour(color, sys.stdout))
    write_stdout(msgspec.json.encode(known) + b"\n" if as_json else text_of(known, style).encode())
    raise typer.Exit(OK if snapshot.devices else NO_DEVICE)


def text_of(known: Topology, style: Style) -> str:
    """The matrix, and what its words mean."""
    if not known.members:
        return "no device and no network adapter on a PCI bus\n"
    relations = known.relations()
    names = [printable(member.name) for member in known.members]
    header = ["", *names, "NUMA", "CPUS", "NEAREST ADAPTERS"]
    rows = [
        [
            name,
            *(relations[member.name, other.name] for other in known.members),
            *_standing(member),
        ]
        for name, member in zip(names, known.members, strict=True)
    ]
    lines = aligned(header, rows, style, [""] * len(rows))
    used = {word for row in rows for word in row[1 : 1 + len(names)]}
    lines += ["", *(f"{word:<5} {text}" for word, text in WORDS.items() if word in used - {"X"})]
    if fabrics := used - set(WORDS):
        words = ", ".join(sorted(fabrics))
        lines.append(f"{words}: the vendor's own links, and how many of them")
    return "".join(f"{line}\n" for line in lines)


def _standing(member: Member) -> list[str]:
    numa = "-" if member.numa_node is None else str(member.numa_node)
    return [numa, member.cpus or "-", printable(", ".join(member.nearest)) or "-"]
