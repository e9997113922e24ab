"""Nodes of a cluster go bad, one after another and all in one moment: until the API shows each tainted.

`taints_at_once.py [PART ...] [--runs N]`; the parts are `apart` (100 nodes, four a second), `thousand`
(1,000 in one moment, with budget, breaker and the rule that many at once are one incident lifted) and
`budget` and `brakes` (1,000 in one moment with a budget of 40: alone, and with the breaker as by
default).

One hub in one process, with rules, journal, remedies and the action; readings are put into its fleet
instead of coming by the network, with one device a node. The API server is the lab's stand-in, in a
process of its own, with TLS, tokens and a log of all requests. A taint counts when a watch of the nodes
shows it, which a third process keeps.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "remediation"))

from accelwatch.remediation.settings import Breaker
from lifted_limits import BOUNDED, LIFTED, MANY, without_storms
from measured_hub import Hub, settled
from taint_cluster import Cluster, cluster_of
from waits import percentiles, until

# Without another taint for so long, all is decided and done.
QUIET_S = 10.0
GOALS = {
    "fault -> taint visible, p99_s": 1.5,
    "1,000 nodes at once, patches/s": 100.0,
}


async def _apart(cluster: Cluster) -> dict[str, object]:
    nodes, every_s = 100, 0.25
    hub = Hub(cluster.folder, nodes, MANY, LIFTED)
    faults: dict[str, float] = {}
    async with hub.running() as (rules, remedies):
        for name in hub.names:
            faults[name] = hub.break_at_once([name])
            await asyncio.sleep(every_s)
        await until(lambda: len(cluster.seen()) == nodes)
        opened = {incident.entity.node: incident.opened for incident in rules.open}
        problems = list(remedies.problems)
    seen = cluster.seen()
    return {
        "reading -> taint visible": percentiles([seen[name] - faults[name] for name in faults]),
        "detect -> taint visible": percentiles([seen[name] - opened[name] for name in faults]),
        "problems": problems,
    }


async def _thousand(cluster: Cluster) -> dict[str, object]:
    nodes = 1000
    hub = Hub(cluster.folder, nodes, MANY, LIFTED)
    async with hub.running() as (rules, remedies):
        began = time.process_time()
        fault = hub.break_at_once(hub.names)
        await until(lambda: len(cluster.seen()) == nodes)
        opened = {incident.entity.node: incident.opened for incident in rules.open}
        await until(lambda: settled(remedies, nodes))
        ended, spent_s = time.time(), time.process_time() - began
        problems = list(remedies.problems)
    seen = cluster.seen()
    patches = cluster.patches()
    times = sorted(entry["at"] for entry in patches)
    by_node = Counter(entry["path"] for entry in patches)
    return {
        "patches/s": round((len(times) - 1) / (times[-1] - times[0]), 1),
        "patches": len(patches),
        "most patches of one node": max(by_node.values()),
        "answers": dict(Counter(str(entry["status"]) for entry in patches)),
        "reading -> taint visible": percentiles([at - fault for at in seen.values()]),
        "detect -> taint visible": percentiles([seen[name] - opened[name] for name in hub.names]),
        "all known to the engine_s": round(ended - fault, 2),
        "processor time of the hub until then_s": round(spent_s, 2),
        "problems": problems,
    }


async def _braked(cluster: Cluster, limits: Breaker) -> dict[str, object]:
    hub = Hub(cluster.folder, 1000, BOUNDED, limits)
    async with hub.running() as (_, remedies):
        hub.break_at_once(hub.names)
        before = -1
        while len(cluster.seen()) != before:
            before = len(cluster.seen())
            await asyncio.sleep(QUIET_S)
        breaker = remedies.engine.state.breaker.standing
        problems = list(remedies.problems)
    return {
        "budget": BOUNDED.most,
        "most own quarantines at any step": hub.most_own,
        "nodes tainted": len(cluster.seen()),
        "patches": len(cluster.patches()),
        "breaker": breaker.value,
        "problems": problems,
    }


def apart() -> object:
    """100 nodes, one after another."""
    with without_storms(), cluster_of(100) as cluster:
        return asyncio.run(_apart(cluster))


def thousand() -> object:
    """1,000 nodes in one moment."""
    with without_storms(), cluster_of(1000) as cluster:
        return asyncio.run(_thousand(cluster))


def budget() -> object:
    """1,000 nodes in one moment, with a budget."""
    with without_storms(), cluster_of(1000) as cluster:
        return asyncio.run(_braked(cluster, LIFTED))


def brakes() -> object:
    """1,000 nodes in one moment, with a budget and the breaker."""
    with without_storms(), cluster_of(1000) as cluster:
        return asyncio.run(_braked(cluster, Breaker()))


PARTS = {"apart": apart, "thousand": thousand, "budget": budget, "brakes": brakes}


def main() -> None:
    """Print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    parser.add_argument("--runs", type=int, default=1)
    given = parser.parse_args()
    figures = {part: [PARTS[part]() for _ in range(given.runs)] for part in given.parts or PARTS}
    document = {
        **figures,
        "goals": GOALS,
        "load": [round(load, 1) for load in os.getloadavg()],
        "cpus": os.cpu_count(),
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
