"""Many nodes go bad in one moment: until each is drained, until all is decided, and what a storm gets.

`faults_at_once.py [PART ...] [--runs N]`; the parts are `hundred`, `thousand`, `budget`, `storm`, all of
them without a name. One hub in one process, with rules, journal, remedies and the action. Simulated is
what surrounds it: readings are put into its fleet instead of coming by the network, with one device a
node. `hundred` and `thousand` drain nodes of a real slurmctld whose nodes have no slurmd; it runs on the
same machine. Budget, breaker and the rule that many at once are one incident are lifted there, for
without that nothing would be drained at all; all other guards stand. `budget` and `storm` act on a
scheduler in memory. A drain counts when `sinfo`, asked by another thread ten times a second, shows it.
"""

import argparse
import asyncio
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import msgspec

from accelwatch.action.contract import ActionContext
from accelwatch.base.clock import SystemClock
from accelwatch.remediation.policy.guards.limits.breaker import BreakerStatus
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.settings import Breaker
from accelwatch_slurm import SlurmAction
from drain_watcher import DrainWatcher
from lifted_limits import BOUNDED, LIFTED, MANY, without_storms
from measured_hub import Hub, acting_by, settled
from remediation.fake_scheduler import FakeAction, FakeScheduler
from support.processes.terminated import end_children_when_terminated
from support.slurm.controller import Slurm, slurm_of_many
from waits import percentiles, until

GOALS = {
    "100 faults at once, detect -> drain, p99": 2.0,
    "1,000 faults at once, detect -> drain, p99": 5.0,
    "150 faults of 1,500 nodes at once, decided": 2.0,
}


async def drained(folder: Path, slurm: Slurm, nodes: int) -> dict[str, object]:
    """All nodes of a hub go bad at once, and each is drained."""
    hub = Hub(folder, nodes, MANY, LIFTED)
    watcher = DrainWatcher(slurm)
    try:
        async with hub.running() as (rules, remedies):
            began = resource.getrusage(resource.RUSAGE_SELF)
            fault = hub.break_at_once(hub.names)
            await until(lambda: len(watcher.seen) == nodes)
            opened = {incident.entity.node: incident.opened for incident in rules.open}
            await until(lambda: settled(remedies, nodes))
            ended = time.time()
            spent = resource.getrusage(resource.RUSAGE_SELF)
            problems = list(remedies.problems)
    finally:
        watcher.end()
    return {
        "detect -> drain": percentiles([watcher.seen[name] - opened[name] for name in hub.names]),
        "reading -> drain": percentiles([at - fault for at in watcher.seen.values()]),
        "reading -> detect": percentiles([at - fault for at in opened.values()]),
        "all drains known to the engine_s": round(ended - fault, 2),
        "processor time of the hub until then_s": round(
            spent.ru_utime + spent.ru_stime - began.ru_utime - began.ru_stime, 2
        ),
        "problems": problems,
    }


def with_slurm(nodes: int) -> dict[str, object]:
    """One fresh hub over one fresh controller."""
    with tempfile.TemporaryDirectory(prefix="faults") as name:
        folder = Path(name)
        (folder / "slurm").mkdir()
        with slurm_of_many(folder / "slurm", f"n[0001-{nodes:04d}]") as slurm:
            options = {"slurm_conf": str(slurm.conf)}

            def make(context: ActionContext) -> object:
                return SlurmAction(msgspec.structs.replace(context, options=options))

            with acting_by(make):
                return asyncio.run(drained(folder, slurm, nodes))


async def decided(folder: Path, world: FakeScheduler) -> dict[str, object]:
    """150 of 1,500 nodes go bad at once, and every one of them is decided upon."""
    nodes, faults = len(world.nodes), 150
    hub = Hub(folder, nodes, BOUNDED, LIFTED)
    async with hub.running() as (rules, remedies):
        fault = hub.break_at_once(hub.names[:: nodes // faults][:faults])
        known: dict[str, float] = {}

        def all_decided() -> bool:
            for node, remedy in remedies.engine.state.remedies.items():
                if remedy.stage is not Stage.SUSPECT or remedy.denial is not None:
                    known.setdefault(node, time.time())
            return len(known) == faults

        await until(all_decided)
        opened = {incident.entity.node: incident.opened for incident in rules.open}

        def held() -> int:
            return sum(node.mark is not None for node in world.nodes.values())

        await until(lambda: held() >= BOUNDED.most)
        await asyncio.sleep(3.0)
        problems = list(remedies.problems)
    return {
        "nodes": nodes,
        "detect -> decided": percentiles([known[node] - opened[node] for node in known]),
        "reading -> decided": percentiles([at - fault for at in known.values()]),
        "budget": BOUNDED.most,
        "most own quarantines at any step": hub.most_own,
        "nodes taken out": held(),
        "problems": problems,
    }


async def stormed(folder: Path, world: FakeScheduler) -> dict[str, object]:
    """30 nodes go bad within a minute, one every two seconds."""
    hub = Hub(folder, len(world.nodes), BOUNDED, Breaker())
    async with hub.running() as (rules, remedies):
        grouped_at = 0.0
        for name in hub.names[::10][:30]:
            hub.break_at_once([name])
            await asyncio.sleep(2.0)
            if not grouped_at and any(incident.storm for incident in rules.open):
                grouped_at = time.time()
        await asyncio.sleep(3.0)
        groups = [incident for incident in rules.open if incident.storm]
        drains = [effect.time for effect in world.effects if effect.kind == "drain"]
        breaker = remedies.engine.state.breaker.standing
    return {
        "nodes": 30,
        "groups": len(groups),
        "incidents that are in none": sum(
            not (incident.group or incident.storm) for incident in rules.open
        ),
        "nodes in the group": len(groups[0].nodes) if groups else 0,
        "quarantines before the group was seen": sum(at <= grouped_at for at in drains),
        "quarantines after the group was seen": sum(at > grouped_at for at in drains),
        "breaker is open": breaker is BreakerStatus.OPEN,
    }


def in_memory(nodes: int, part: Callable[[Path, FakeScheduler], object]) -> object:
    """A part of the benchmark over a scheduler in memory."""
    world = FakeScheduler(SystemClock(), [f"n{at:04d}" for at in range(1, nodes + 1)])
    with (
        tempfile.TemporaryDirectory(prefix="faults") as name,
        acting_by(lambda _: FakeAction(world)),
    ):
        return asyncio.run(part(Path(name), world))  # type: ignore[arg-type]


def hundred() -> object:
    """100 of 100 nodes of a real Slurm."""
    with without_storms():
        return with_slurm(100)


def thousand() -> object:
    """1,000 of 1,000 nodes of a real Slurm."""
    with without_storms():
        return with_slurm(1000)


def budget() -> object:
    """150 of 1,500, with a budget of 40."""
    with without_storms():
        return in_memory(1500, decided)


def many_in_a_minute() -> object:
    """30 of 300 within a minute."""
    return in_memory(300, stormed)


PARTS = {
    "hundred": hundred,
    "thousand": thousand,
    "budget": budget,
    "storm": many_in_a_minute,
}


def main() -> None:
    """Print one JSON document."""
    end_children_when_terminated()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    parser.add_argument("--runs", type=int, default=1)
    given = parser.parse_args()
    figures = {part: [PARTS[part]() for _ in range(given.runs)] for part in given.parts or PARTS}
    document = {
        **figures,
        "goals_s": GOALS,
        "load": [round(load, 1) for load in os.getloadavg()],
        "cpus": os.cpu_count(),
    }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
