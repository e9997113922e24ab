"""The whole way over sockets: 63 simulated agents, and a hub in a process of its own with all packs.

Faults are switched by the clock of the simulator; the rest of its vocabulary is played in process.
"""

import asyncio
import time
from pathlib import Path
from typing import Any

from accelwatch.alerting.rules.loading.pack_files import pack_names
from accelwatch.base.clock import ManualClock
from accelwatch.cli.trial.sim import SimPlan, build_fleet, own_exposition
from accelwatch_lab.simulator.serving.server import SimulatorServer
from accelwatch_lab.simulator.serving.targets import open_sockets, targets, write_targets
from fleet.misbehaving_targets.processes import HubProcess, hub_process

DAY = """
scenario: 1
jobs:
  - {name: pretraining, id: "4711", nodes: "n[001-032]", user: ada, queue: train}
faults:
  - {kind: lost, nodes: n001, device: 3, at: 10m, back: 20m}
  - {kind: event, nodes: n003, device: 2, at: 10m, code: 119, text: Timeout waiting for RPC}
  - {kind: node_down, nodes: n003, at: 11m, back: 12m}
"""
SITE = """
version: 1
defaults: {keep: 0}
rules:
- {id: site.lost, title: A device is lost, when: state == "lost", severity: warning}
"""


def serious(page: Any) -> dict[tuple[str, str, str], tuple[str, str]]:
    """Whom and which family: how loud, and whether it is open."""
    return {
        (one["nodes"][0], one["device_name"], one["family"]): (one["severity"], one["state"])
        for one in page["incidents"]
        if one["severity"] != "info"
    }


LOST = ("n001", "nvidia3", "nvidia.gpu")
XID = ("n003", "nvidia2", "nvidia.gpu")
SITES = ("n001", "nvidia3", "site.lost")


async def scenario(folder: Path, hub: HubProcess, clock: ManualClock) -> None:
    await hub.until(lambda page: page["nodes"]["up"] == 63)
    page = "/v1/incidents?state=all"
    judged = await hub.until(lambda found: found["judged"], page)
    assert (serious(judged), judged["problems"]) == ({}, [])
    clock.advance(601.0)
    found = await hub.until(lambda found: len(serious(found)) >= 3, page)
    assert serious(found) == {
        LOST: ("critical", "open"),
        XID: ("critical", "open"),
        SITES: ("warning", "open"),
    }
    by_family = {one["family"]: one for one in found["incidents"] if one["nodes"][0] == "n003"}
    lines = [one["text"] for one in by_family["nvidia.gpu"]["evidence"]]
    assert lines == ["xid_119: Timeout waiting for RPC"]
    # The agent of n003 goes and comes again with what it reported before; n001 has its device back.
    clock.advance(60.0)
    await hub.until(lambda found: found["nodes"]["up"] == 62)
    clock.advance(600.0)
    await hub.until(lambda found: found["nodes"]["up"] == 63)
    found = await hub.until(lambda found: serious(found).get(SITES, ("", ""))[1] == "closed", page)
    assert serious(found) == {
        LOST: ("critical", "open"),
        XID: ("critical", "open"),
        SITES: ("warning", "closed"),
    }
    assert {one["reopened"] for one in found["incidents"]} == {0}


def test_faults_of_a_fleet_are_incidents_of_a_hub(tmp_path: Path) -> None:
    day, site, file = (tmp_path / name for name in ("day.yaml", "site.yaml", "targets.json"))
    day.write_text(DAY)
    site.write_text(SITE)
    settings = {
        "targets": {"files": [str(file)]},
        "state": {"slow_after": "2500ms", "stale_after": "10s", "down_after": "30s"},
        "rules": {"packs": list(pack_names()), "files": [str(site)], "interval": "200ms"},
    }

    async def main() -> None:
        clock = ManualClock(wall=time.time())
        fleet = build_fleet(SimPlan(vendor="nvidia", scenario=day), clock)
        server = SimulatorServer(fleet, clock, own_exposition())
        sockets = open_sockets("127.0.0.1:0", fleet, many=False)
        await server.listen(sockets)
        write_targets(file, targets(fleet, sockets))
        server.start()
        try:
            async with hub_process(tmp_path, settings) as hub:
                await scenario(tmp_path, hub, clock)
        finally:
            await server.stop()

    asyncio.run(main())
