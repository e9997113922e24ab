"""A simulated fleet and a hub that follows it, in one child process of `accelwatch demo`."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from accelwatch.base.clock import SystemClock
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.hub.model import HubSettings, load_settings
from accelwatch.fleet.hub_client.local_hub.embedded import serve
from accelwatch.fleet.hub_client.local_hub.inventory_folder import InventoryFolder
from accelwatch.fleet.hub_client.local_hub.lifetime import Lifetime
from accelwatch.fleet.state.inventory.file import Changes, Expected, InventoryFile
from accelwatch.web.sockets.listeners import open_tcp
from accelwatch_lab.scenario.faults import NODE_KINDS
from accelwatch_lab.simulator.demo.rehearsal import rehearsal
from accelwatch_lab.simulator.exporters.exposition import Render
from accelwatch_lab.simulator.fleet import Fleet
from accelwatch_lab.simulator.nodes import FleetSize, Node, build
from accelwatch_lab.simulator.serving.server import SimulatorServer
from accelwatch_lab.simulator.serving.targets import targets, write_targets

_TARGETS = "targets.json"
# How long a simulated node may be silent: it is near, and a demonstration is short.
_SCRAPE_S = 2.0


def run_stage(
    size: FleetSize,
    exposition: Callable[[], Render],
    folder: Path,
    life: Lifetime,
    *,
    start: float,
    elapsed_s: float = 0.0,
    rules: RuleSettings,
) -> None:
    """Simulate and follow until the parent ends, and judge by `rules`, which act on nothing.

    `start` is the Unix time from which the scenario plays, of which `elapsed_s` seconds are over by
    then. Raises UsageError for a fleet that cannot be.
    """
    nodes = build(size)
    scenario = rehearsal(nodes, elapsed_s)
    fleet = Fleet(nodes, scenario, seed=size.seed, start=start, interval_s=1.0)
    if elapsed_s:
        write_inventory(fleet, folder)
    # Incidents are written down as by any hub, where all goes with the child.
    kept = InventoryFolder(folder=folder if rules.any or elapsed_s else None)
    asyncio.run(_run(fleet, exposition, rules, folder, life, kept=kept))


async def _run(
    fleet: Fleet,
    exposition: Callable[[], Render],
    rules: RuleSettings,
    folder: Path,
    life: Lifetime,
    *,
    kept: InventoryFolder,
) -> None:
    sockets = {"": open_tcp("127.0.0.1:0")}
    server = SimulatorServer(fleet, SystemClock(), exposition())
    await server.listen(sockets)
    server.start()
    try:
        write_targets(folder / _TARGETS, targets(fleet, sockets))
        settings = _settings(folder / _TARGETS, rules)
        await serve(settings, kept, folder, life)
    finally:
        await server.stop()


def _settings(file: Path, rules: RuleSettings) -> HubSettings:
    settings = load_settings(None)
    followed = msgspec.structs.replace(settings.targets, files=(str(file),))
    scrape = msgspec.structs.replace(settings.scrape, timeout_s=_SCRAPE_S, max_backoff_s=_SCRAPE_S)
    return msgspec.structs.replace(settings, targets=followed, scrape=scrape, rules=rules)


def write_inventory(fleet: Fleet, folder: Path) -> None:
    """Write what a hub would know that had followed the fleet from its beginning. Raises InventoryError.

    A hub that begins beside faults which have been there for a while would else say of silent nodes
    that they had never answered, and nothing of their devices.
    """
    changes = Changes()
    for node in fleet.nodes:
        last_seen = fleet.start + _silent_since_s(fleet, node)
        changes.updated[node.name] = Expected(first_seen=fleet.start, last_seen=last_seen)
        changes.added += [(node.name, unit.device, fleet.start) for unit in node.units]
    file = InventoryFile(folder)
    try:
        file.write(changes)
    finally:
        file.close()


def _silent_since_s(fleet: Fleet, node: Node) -> float:
    """Seconds of the scenario, which has just started: below 0 for a node that is silent already."""
    if fleet.condition(node, fleet.instant_at(0.0)).refusal is None:
        return 0.0
    since = [
        now.since_s
        for fault in fleet.scenario.faults
        if node.name in fault.nodes and fault.spec.kind in NODE_KINDS
        if (now := fault.state_at(0.0)) is not None and now.active
    ]
    return min(since, default=0.0)
