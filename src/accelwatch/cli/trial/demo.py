"""`accelwatch demo`: a simulated fleet and its dashboard with one command; nothing stays behind."""

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from accelwatch.cli import view_flags
from accelwatch.cli.fleet.fleet_hub import own_hub
from accelwatch.cli.fleet.fleet_plan import DisplayOptions, PrintOptions, Show, checked
from accelwatch.cli.options import command
from accelwatch.cli.startup.entry import guarded
from accelwatch.cli.terminal import on_terminal
from accelwatch.cli.trial import sim

if TYPE_CHECKING:
    from accelwatch.fleet.hub_client.local_hub.child import Child
    from accelwatch.fleet.hub_client.local_hub.lifetime import Lifetime
    from accelwatch_lab.simulator.nodes import FleetSize

# The simulated nodes run on this machine, and start slowly only where it is busy.
_TIMEOUT = "30s"


class DemoOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How large the fleet is, and how it is shown."""

    nodes: sim.Nodes = 24
    devices: sim.Devices = 8
    vendor: sim.Vendor = "mixed"
    json: view_flags.Json = False
    by: view_flags.By = None
    once: view_flags.Once = False
    color: view_flags.Color = "auto"
    theme: view_flags.Theme = None
    ascii_only: view_flags.Ascii = False


@command
def demo_command(options: DemoOptions) -> None:
    """Show a simulated fleet in which faults appear over a minute; needs no accelerator."""
    from accelwatch_lab.simulator.nodes import FleetSize

    size = FleetSize(nodes=options.nodes, devices=options.devices, vendor=options.vendor, npus=True)
    printing = PrintOptions(json=options.json, by=options.by, color=options.color, timeout=_TIMEOUT)
    display = DisplayOptions(theme=options.theme, ascii_only=options.ascii_only)
    raise click.exceptions.Exit(
        guarded(lambda: run_demo(size, printing, display, once=options.once))
    )


def run_demo(
    size: "FleetSize", printing: PrintOptions, display: DisplayOptions, *, once: bool
) -> int:
    """Show the simulated fleet; returns the exit code. Raises AccelwatchError."""
    checked(printing)
    printed = printing.one_shot or once or not on_terminal()
    start = time.time()
    with contextlib.closing(_start_demo(size, start, printed=printed)) as child:
        hub = msgspec.structs.replace(own_hub(child, "demo"), simulated=True)
        if printed:
            from accelwatch.cli.fleet.fleet_once import run_once
            from accelwatch_lab.simulator.demo.rehearsal import hung_nodes
            from accelwatch_lab.simulator.nodes import names

            hung = hung_nodes(names(size.nodes))
            return run_once(msgspec.structs.replace(hub, hung_nodes=hung), printing)
        from accelwatch.cli.fleet.fleet_dashboard import run_fleet_dashboard
        from accelwatch_lab.simulator.demo.rehearsal import demo_events

        played = [(start + event.at_s, event.coming) for event in demo_events(size.nodes)]
        starting = f"starting {size.nodes} simulated node{'' if size.nodes == 1 else 's'}"
        return run_fleet_dashboard(hub, display, Show(starting=starting, demo_events=played))


def _start_demo(size: "FleetSize", start: float, *, printed: bool) -> "Child":
    """The simulator and its hub; what is printed once is printed with all the faults."""
    from accelwatch.fleet.hub_client.local_hub.child import fork_child

    def work(folder: Path, life: "Lifetime") -> None:
        from accelwatch.alerting.rules.loading.pack_files import pack_names
        from accelwatch.config.model import RuleSettings
        from accelwatch_lab.simulator.demo.rehearsal import ALL_THERE_S
        from accelwatch_lab.simulator.demo.stage import run_stage

        elapsed_s = ALL_THERE_S if printed else 0.0
        # A printed document has no incidents.
        rules = RuleSettings(packs=() if printed else tuple(pack_names()))
        run_stage(
            size, sim.own_exposition, folder, life, start=start, elapsed_s=elapsed_s, rules=rules
        )

    return fork_child(work)
