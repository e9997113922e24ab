"""`accelwatch demo`: a simulated fleet and its dashboard with one command; nothing stays behind."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accelwatch.cli import view_flags
from accelwatch.cli.completion import completer
from accelwatch.cli.entry import guarded, on_terminal
from accelwatch.cli.fleet_plan import Asking, Hub, Look, checked, own_hub

if TYPE_CHECKING:
    from accelwatch.fleet.hub_client.child import Child
    from accelwatch.fleet.hub_client.lifetime import Lifetime
    from accelwatch_simulator.nodes import FleetSize

_NODES, _DEVICES = 24, 8
_TIMEOUT = "1s"
"""Nodes that hang on purpose are not worth waiting for."""


def demo_command(
    nodes: Annotated[int, typer.Option(metavar="N", help="How many nodes.")] = _NODES,
    devices: Annotated[int, typer.Option(metavar="N", help="Accelerators of a node.")] = _DEVICES,
    vendor: Annotated[
        str,
        typer.Option(help="nvidia, amd, intel or mixed.", autocompletion=completer("vendors")),
    ] = "mixed",
    json: view_flags.Json = False,
    by: view_flags.By = None,
    once: view_flags.Once = False,
    color: view_flags.Color = "auto",
    theme: view_flags.Theme = None,
    ascii_only: view_flags.Ascii = False,
) -> None:
    """Show a simulated fleet in which faults appear over a minute; needs no accelerator."""
    from accelwatch_simulator.nodes import FleetSize

    size = FleetSize(nodes=nodes, devices=devices, vendor=vendor)
    asking = Asking(json=json, by=by, color=color, timeout=_TIMEOUT)
    look = Look(theme=theme, ascii_only=ascii_only)
    raise typer.Exit(guarded(lambda: run_demo(size, asking, look, once=once)))


def run_demo(size: "FleetSize", asking: Asking, look: Look, *, once: bool) -> int:
    """Show the simulated fleet; returns the exit code. Raises AccelwatchError."""
    checked(asking)
    printed = asking.one_shot or once or not on_terminal()
    with contextlib.closing(_begun(size, printed=printed)) as child:
        hub: Hub = own_hub(child, "demo")
        if printed:
            from accelwatch.cli.fleet_once import run_once

            return run_once(hub, asking)
        from accelwatch.cli.fleet_dashboard import run_fleet_dashboard

        return run_fleet_dashboard(hub, look)


def _begun(size: "FleetSize", *, printed: bool) -> "Child":
    """The simulator and its hub; what is printed once is printed with all the faults."""
    from accelwatch.fleet.hub_client.child import begin

    def work(folder: Path, life: "Lifetime") -> None:
        from accelwatch.cli.sim import own_exposition
        from accelwatch_simulator.rehearsal import ALL_THERE_S
        from accelwatch_simulator.stage import run_stage

        begun_s = ALL_THERE_S if printed else 0.0
        run_stage(size, own_exposition, folder, life, begun_s=begun_s)

    return begin(work)
