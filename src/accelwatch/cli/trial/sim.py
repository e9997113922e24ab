"""`accelwatch sim`: a simulated fleet on loopback until ^C."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import msgspec

from accelwatch.base.errors import AccelwatchError, UsageError
from accelwatch.base.exit_codes import OK
from accelwatch.cli.options import command
from accelwatch.cli.output import complain
from accelwatch.cli.parameters import option
from accelwatch_lab.simulator.models import MODELS

if TYPE_CHECKING:
    from accelwatch.base.clock import Clock
    from accelwatch_lab.simulator.exporters.exposition import Render
    from accelwatch_lab.simulator.fleet import Fleet
    from accelwatch_lab.simulator.nodes import FleetSize
    from accelwatch_lab.simulator.scenario import Scenario
    from accelwatch_lab.simulator.serving.server import SimulatorServer

DEFAULT_LISTEN = "127.0.0.1:19400"
_PORTS = ("many", "one")
_MIN_INTERVAL_S = 0.05

Nodes = Annotated[int, option(metavar="N", help="How many nodes.")]
Devices = Annotated[int, option(metavar="N", help="Accelerators per node.")]
Vendor = Annotated[
    str,
    option(
        metavar="NAME",
        help=f"{', '.join(MODELS)} or mixed.",
        completion="vendors",
    ),
]


class SimPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What to simulate and where to serve it: the options of the command."""

    nodes: Nodes = 63
    devices: Devices = 8
    vendor: Vendor = "mixed"
    dialect: Annotated[
        str,
        option(metavar="NAME", help="Format of /metrics: own, dcgm, dcgm-4.9, all-smi or mixed."),
    ] = "own"
    scenario: Annotated[
        Path | None,
        option(metavar="FILE", help="Jobs and faults over time (docs/fleet/simulator.md)."),
    ] = None
    seed: Annotated[int, option(metavar="N", help="Same seed, same values.")] = 0
    listen: Annotated[
        str, option(metavar="HOST:PORT", help="Address, or the first of many ports.")
    ] = DEFAULT_LISTEN
    listen_any: Annotated[
        bool, option("--listen-any", help="Allow an address that other machines can reach.")
    ] = False
    ports: Annotated[
        str,
        option(
            metavar="many|one", help="many: a port for each node; one: a path /node/NAME for each."
        ),
    ] = "many"
    targets_file: Annotated[
        Path | None,
        option(
            "--print-targets",
            metavar="FILE",
            help="Write the targets, for --targets-file and Prometheus.",
        ),
    ] = None
    interval: Annotated[
        str, option(metavar="DURATION", help="Time between two ticks of a stream.")
    ] = "1s"


@command
def sim_command(plan: SimPlan) -> None:
    """Serve a fleet of simulated agents on loopback, with jobs and faults, until stopped."""
    raise click.exceptions.Exit(run_sim(plan))


def run_sim(plan: SimPlan) -> int:
    """Serve until ^C or SIGTERM; returns the exit code. Raises AccelwatchError."""
    import asyncio

    from accelwatch.base.clock import SystemClock

    clock = SystemClock()
    fleet = build_fleet(plan, clock)
    asyncio.run(_serve(plan, fleet, clock))
    return OK


def build_fleet(plan: SimPlan, clock: "Clock") -> "Fleet":
    """The fleet of a plan, beginning now. Raises UsageError and ConfigError."""
    from accelwatch.base.durations import seconds
    from accelwatch_lab.simulator.fleet import Fleet
    from accelwatch_lab.simulator.nodes import build

    interval_s = seconds(plan.interval)
    if interval_s < _MIN_INTERVAL_S:
        raise UsageError("--interval must be at least 50ms")
    if plan.ports not in _PORTS:
        raise UsageError(f"--ports is {plan.ports!r}; there are {', '.join(_PORTS)}")
    size = _size(plan)
    nodes = build(size)
    return Fleet(
        nodes, _scenario(plan, size), seed=plan.seed, start=clock.wall(), interval_s=interval_s
    )


def _scenario(plan: SimPlan, size: "FleetSize") -> "Scenario":
    """What is played. Raises ConfigError."""
    from accelwatch_lab.simulator.nodes import dealing_order, names
    from accelwatch_lab.simulator.scenario import everyday
    from accelwatch_lab.simulator.scenario_file import read_scenario

    called = names(plan.nodes)
    if plan.scenario is None:
        return everyday(called)
    return read_scenario(plan.scenario, called, plan.devices, dealing_order(size))


def _size(plan: SimPlan) -> "FleetSize":
    from accelwatch_lab.simulator.nodes import FleetSize

    return FleetSize(
        nodes=plan.nodes,
        devices=plan.devices,
        vendor=plan.vendor,
        dialect=plan.dialect,
        seed=plan.seed,
    )


def play_again(plan: SimPlan, fleet: "Fleet") -> None:
    """Read the scenario anew; a scenario with mistakes changes nothing, and they are printed."""
    try:
        fleet.play(_scenario(plan, _size(plan)))
    except AccelwatchError as error:
        complain(f"{error}\nthe scenario is played as before")


def own_exposition() -> "Render":
    """The agents' exporter in the form that the simulator needs."""
    from accelwatch.node.rendering import exporter_of, rendered

    exporter = exporter_of("prometheus")
    return lambda snapshot, openmetrics: rendered(
        exporter, snapshot, {"openmetrics": openmetrics}
    ).decode()


def server_of(fleet: "Fleet", clock: "Clock") -> "SimulatorServer":
    """Serves a fleet with the pages of real agents."""
    from accelwatch_lab.simulator.serving.server import SimulatorServer

    return SimulatorServer(fleet, clock, own_exposition())


def _check_exposure(plan: SimPlan) -> None:
    """Raise UsageError for an address that others reach, unless that is meant."""
    from accelwatch.web.sockets.listeners import is_loopback

    try:
        shared = not is_loopback(plan.listen)
    except ValueError as error:
        raise UsageError(f"--listen: {error}; write 127.0.0.1:19400") from error
    if shared and not plan.listen_any:
        raise UsageError(f"{plan.listen} can be reached by other machines; add --listen-any")


async def _serve(plan: SimPlan, fleet: "Fleet", clock: "Clock") -> None:
    import asyncio
    import resource
    import signal

    from accelwatch_lab.simulator.serving.targets import (
        address,
        open_sockets,
        targets,
        write_targets,
    )

    _check_exposure(plan)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    sockets = open_sockets(plan.listen, fleet, many=plan.ports == "many")
    server = server_of(fleet, clock)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    loop.add_signal_handler(signal.SIGHUP, play_again, plan, fleet)
    try:
        await server.listen(sockets)
        server.start()
        groups = targets(fleet, sockets)
        if plan.targets_file is not None:
            write_targets(plan.targets_file, groups)
        where = plan.listen if plan.ports == "one" else address(sockets[fleet.nodes[0].name][0])
        click.echo(f"serving {len(fleet.nodes)} simulated nodes from {where} on", err=True)
        await stopping.wait()
    finally:
        await server.stop()
