"""Incidents of a time, which a hub that was started anew has in its journal only."""

import asyncio
from pathlib import Path

from accelwatch.alerting.incidents.journal.records import Batch, IncidentRecord
from accelwatch.alerting.incidents.journal.sqlite.file import FILE, open_file
from accelwatch.config.model import RuleSettings
from support.fleet.hub_peers import agent, hub
from support.incidents.incident_samples import incident
from support.machines import composed as machines

RULES = """\
version: 1
defaults: {keep: 0}
rules:
- {id: gpu.lost, title: A GPU is lost, when: state == "lost", severity: critical}
"""
DAY_S = 86_400.0


def test_what_was_before_the_start_is_read_from_the_journal(tmp_path: Path) -> None:
    import time

    file = tmp_path / "rules.yaml"
    file.write_text(RULES, encoding="utf-8")
    rules = RuleSettings(files=(str(file),), interval_s=0.1)
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    now = time.time()
    journal = open_file(state / FILE)
    for days, id_ in ((3.0, "i1"), (40.0, "i2")):
        ended = now - days * DAY_S
        over = incident(id=id_, state="closed", closed=ended, updated=ended)
        journal.write([Batch(time=ended, records=[IncidentRecord(over)])])
    journal.close()

    async def main() -> None:
        broken = machines.snapshot(machines.view(0), machines.lost_view(1))
        async with agent(broken) as bad, hub(bad.address, rules=rules, state_dir=state) as running:
            await running.until(lambda: bool(running.hub.rules and running.hub.rules.open))
            (open_,) = (await running.get("/v1/incidents"))["incidents"]
            # Neither is in memory: both are older than what a hub takes up when it starts.
            every = await running.get("/v1/incidents?state=all")
            assert [one["id"] for one in every["incidents"]] == [open_["id"]]
            lately = await running.get("/v1/incidents?since=30d")
            assert [one["id"] for one in lately["incidents"]] == [open_["id"], "i1"]
            assert lately["problems"] == []
            whole = await running.get("/v1/incidents?since=60d")
            assert [one["id"] for one in whole["incidents"]] == [open_["id"], "i1", "i2"]
            of_node = await running.get(f"/v1/incidents?since=60d&node={bad.address}")
            assert [one["id"] for one in of_node["incidents"]] == [open_["id"]]
            assert "since: a time" in await running.get("/v1/incidents?since=soon", 400)
            await running.get("/v1/incidents?since=30d&state=open", 400)

    asyncio.run(main())


def test_without_a_journal_it_says_what_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES, encoding="utf-8")
    rules = RuleSettings(files=(str(file),), interval_s=0.1)

    async def main() -> None:
        async with agent() as well, hub(well.address, rules=rules) as running:
            page = await running.get("/v1/incidents?since=30d")
            assert "no journal is kept here" in page["problems"][-1]
        async with agent() as well, hub(well.address) as running:
            assert not (await running.get("/v1/incidents?since=30d"))["judged"]

    asyncio.run(main())
