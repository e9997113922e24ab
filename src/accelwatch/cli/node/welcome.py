"""`accelwatch welcome`: the first look, used by `make run`. This machine, or a recording of another."""

import sys

import click

from accelwatch.base.exit_codes import OK
from accelwatch.cli.node.process_table import processes_table
from accelwatch.cli.node.table import devices_table, heading, render
from accelwatch.cli.options import command
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.table_lines import Style
from accelwatch.schema.display import colour, size, utf8
from accelwatch.schema.snapshot import DeviceView, Snapshot


@command
def welcome_command() -> None:
    """Show this machine's accelerators; without one, the host and a shipped recording."""
    from accelwatch.node.sampler.protocol.settings import CollectSettings
    from accelwatch.node.snapshots import read_once

    style = Style(colour=colour("auto", sys.stdout), ascii_only=not utf8(sys.stdout))
    here = read_once(CollectSettings(one_shot=True, timeout_s=2.0, groups=frozenset({"host"})))
    if here.devices:
        write_stdout(render(here, (), style).encode())
        raise click.exceptions.Exit(OK)
    complain("no accelerator in this machine; here is the host, then a shipped recording")
    lines = [heading(here), _host_line(here.node)] if here.node else [heading(here)]
    write_stdout(("\n".join(lines) + "\n\n").encode())
    write_stdout(_recorded(_recording(), style).encode())
    write_stdout(_NEXT.encode())
    raise click.exceptions.Exit(OK)


def _recorded(shot: Snapshot, style: Style) -> str:
    title = style.paint("a shipped recording of composed devices, not this machine", "1")
    lines = [title, *devices_table(shot, style), "", *processes_table(shot, style)]
    return "\n".join(lines) + "\n"


_NEXT = """
Next: accelwatch dashboard --replay demo    accelwatch doctor    accelwatch agent    accelwatch --help
"""


def _recording() -> Snapshot:
    from accelwatch.node.sampler.protocol.settings import CollectSettings
    from accelwatch.node.snapshots import read_once
    from accelwatch_lab.replay import demo_file

    options: dict[str, dict[str, object]] = {"replay": {"file": str(demo_file())}}
    settings = CollectSettings(backends=("replay",), one_shot=True, timeout_s=2.0, options=options)
    return read_once(settings)


def _host_line(node: DeviceView) -> str:
    values = node.reading.values
    texts: list[str] = []
    if (count := values.get(("host_cpu_count",))) is not None:
        texts.append(f"{count} processors")
    if (load := values.get(("host_load_average", "1"))) is not None:
        texts.append(f"load {load:.2f}")
    total, free = (
        values.get(("host_memory_size_bytes",)),
        values.get(("host_memory_available_bytes",)),
    )
    if total is not None and free is not None:
        texts.append(f"{size(free)} of {size(total)} memory available")
    return ", ".join(texts)
