"""From a fault to an agent that the manager shows as unschedulable, on a real Backend.AI.

`agents_unschedulable.py [--faults N]`; needs what `make backendai` builds, and
ACCELWATCH_BACKENDAI_VERSION names a release. Agents go bad one after another. One hub in one process,
with rules, journal, remedies and the action; readings are put into its fleet. The agents are rows of the
manager's table, copies of that of a real one: no agent is asked whether it is schedulable. One counts
when the manager's API shows it, which is read twenty times a second.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "remediation"))

import msgspec

from accelwatch.action.contract import ActionContext
from accelwatch_backendai import BackendAiAction
from accelwatch_lab.cluster.backendai import requests
from lifted_limits import LIFTED, MANY, without_storms
from measured_hub import Hub, acting_by
from real_servers import WAIT_S, Cluster, cluster
from waits import percentiles

EVERY_S = 2.0
LOOK_S = 0.05
COPIES = (
    "INSERT INTO agents SELECT (jsonb_populate_record(a, jsonb_build_object('uuid',"
    " gen_random_uuid(), 'id', 'n' || lpad(number::text, 4, '0')))).*"
    " FROM agents a, generate_series(1, {count}) number WHERE a.id = 'i-gpu1';"
)
GOALS = {"fault -> unschedulable, p99_s": 1.5}


class Watcher:
    """Reads again and again which agents are unschedulable."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        # Unix seconds at which it was seen first, by agent.
        self.seen: dict[str, float] = {}

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            rows = await asyncio.to_thread(requests.agents, self._cluster.api)
            now = time.time()
            for row in rows:
                if not row["schedulable"]:
                    self.seen.setdefault(row["id"], now)
            await asyncio.sleep(LOOK_S)


async def _faults(cluster: Cluster, count: int) -> dict[str, object]:
    cluster.servers.execute(COPIES.format(count=count))
    hub = Hub(cluster.folder, count, MANY, LIFTED)
    faults: dict[str, float] = {}
    watcher = Watcher(cluster)
    watching = asyncio.create_task(watcher.run())
    try:
        async with hub.running() as (rules, remedies):
            for name in hub.names:
                faults[name] = hub.break_at_once([name])
                await asyncio.sleep(EVERY_S)
            async with asyncio.timeout(WAIT_S):
                while len(watcher.seen) < count:
                    await asyncio.sleep(LOOK_S)
            opened = {row.entity.node: row.opened for row in rules.open}
            problems = list(remedies.problems)
    finally:
        watching.cancel()
    return {
        "fault -> unschedulable": percentiles(
            [watcher.seen[name] - faults[name] for name in faults]
        ),
        "detect -> unschedulable": percentiles(
            [watcher.seen[name] - opened[name] for name in faults]
        ),
        "problems": problems,
    }


def main() -> None:
    """Print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=40)
    given = parser.parse_args()
    with cluster() as running:

        def make(context: ActionContext) -> object:
            return BackendAiAction(msgspec.structs.replace(context, options=running.options))

        with without_storms(), acting_by(make):
            figures = asyncio.run(_faults(running, given.faults))
        document = {
            "release": running.servers.version,
            **figures,
            "goals": GOALS,
            "load": [round(each, 1) for each in os.getloadavg()],
            "cpus": os.cpu_count(),
        }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
