"""A hub that waits shows what the hub that leads has written, and changes nothing of it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from accelwatch.base.clock import SystemClock
from accelwatch.config.journal import JournalSettings
from accelwatch.config.model import RuleSettings, Web
from accelwatch.fleet.hub.model import DetectorSettings, HubSettings
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.fleet.targets.settings import Targets
from accelwatch.plugins import entry_points as plugins
from accelwatch.remediation.settings import ActionSettings, DataGuard, RemedySettings
from remediation.fake_scheduler import FakeAction, FakeScheduler
from support.fleet.hub_peers import Running, agent, served_hub
from support.incidents.kept_journals import InPostgreSQL
from support.machines import composed as machines
from support.postgresql.server import running_or_skip

pytestmark = pytest.mark.usefixtures("patient_database")
RULE = {
    "id": "gpu.lost",
    "title": "A GPU is lost",
    "when": 'state == "lost"',
    "severity": "critical",
    "confidence": "high",
    "mode": "approve",
    "trust": "any",
    "action": {"quarantine": {"level": "node", "when": "now"}},
}
SILENCE = {"matchers": ["severity=critical"], "for": "1h", "reason": "a swap", "by": "ana"}


@pytest.fixture(scope="module")
def database() -> Iterator[InPostgreSQL]:
    with running_or_skip() as server:
        yield InPostgreSQL(server)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> FakeScheduler:
    """A scheduler that the action of each hub acts on."""
    scheduler = FakeScheduler(SystemClock(), ["n1"])
    scheduler.nodes["n1"].boot_id = machines.snapshot().boot_id
    load = plugins.load

    def loaded(group: str, name: str) -> Any:
        is_action = group == plugins.ACTIONS
        return (lambda _: FakeAction(scheduler)) if is_action else load(group, name)

    monkeypatch.setattr(plugins, "load", loaded)
    return scheduler


class Pair:
    """A hub that leads, and one that follows."""

    def __init__(self, first: Running, second: Running, node: str) -> None:
        self.first, self.second, self.node = first, second, node

    async def until(self, happened: Callable[[], bool]) -> None:
        """Wait until it is so, with the second hub's copy of now."""
        async with asyncio.timeout(60):
            while not happened():
                await self.second.hub.status.watch.poll()
                await asyncio.sleep(0.05)

    @property
    def open(self) -> list[str]:
        """The incidents that go on, as the second hub has them."""
        incidents = self.second.hub.incidents
        return [] if incidents is None else [incident.id for incident in incidents.open]


@contextlib.asynccontextmanager
async def pair(database: InPostgreSQL, folder: Path) -> AsyncIterator[Pair]:
    rules = folder / "rules.yaml"
    rules.write_text(json.dumps({"version": 1, "rules": [RULE]}))
    broken = machines.snapshot(machines.view(0), machines.lost_view(1))
    async with contextlib.AsyncExitStack() as stack:
        node = (await stack.enter_async_context(agent(broken))).address

        async def started(name: str) -> Running:
            (folder / name).mkdir()
            settings = HubSettings(
                targets=Targets(static=(node,)),
                scrape=Scrape(timeout_s=0.5, max_backoff_s=0.1, interval_s=0.1),
                rules=RuleSettings(files=(str(rules),), interval_s=0.1),
                detector=DetectorSettings(enabled=False),
                journal=JournalSettings(postgresql=database.settings),
                remedy=RemedySettings(
                    ceiling="resume",
                    actions=(ActionSettings(type="fake"),),
                    nodes={node: "n1"},
                    data_guard=DataGuard(startup_grace_s=0.0, calm_s=0.0, late_s=60.0, silent=1.0),
                    stop_file=str(folder / "STOP"),
                ),
                web=Web(listen_address=(f"127.0.0.1:940{len(name)}",)),
            )
            hub = served_hub(
                settings, interval_s=0.05, state_dir=folder / name, clock=SystemClock()
            )
            return await stack.enter_async_context(hub)

        yield Pair(await started("a"), await started("bb"), node)


def test_incidents_silences_holds_and_remedies_are_there_on_both(
    database: InPostgreSQL, tmp_path: Path, world: FakeScheduler
) -> None:
    async def play(both: Pair) -> None:
        first, second, node = both.first, both.second, both.node
        await both.until(lambda: bool(both.open))
        page = await second.get("/v1/incidents")
        (incident,) = page["incidents"]
        assert (page["judged"], page["rules"], page["told_by"]) == (True, 1, "hub")
        assert incident["id"] == (await first.get("/v1/incidents"))["incidents"][0]["id"]
        assert (await second.get(f"/v1/incidents/{incident['id']}"))["rule"] == "gpu.lost"
        since = await second.get("/v1/incidents?since=1h")
        assert [row["id"] for row in since["incidents"]] == [incident["id"]]
        assert (await second.get("/v1/audit?limit=1"))["entries"]
        assert [row["node"] for row in (await second.get("/v1/avoid"))["nodes"]] == [node]

        await first.post("/v1/silences", json=SILENCE)
        hold = {"reason": "by hand", "by": "ana"}
        await first.post(f"/v1/remedies/{node}/hold", json=hold)
        watch = second.hub.status.watch
        await both.until(lambda: bool(watch.copy.muting.silences))
        silences = (await second.get("/v1/silences"))["silences"]
        assert [(row["reason"], row["mutes"]) for row in silences] == [("a swap", 1)]
        await both.until(lambda: any(state.kind == "veto" for state in watch.copy.states(0.0)))
        held = (await second.get("/v1/holds"))["left_alone"]
        assert [(row["node"], row["reason"]) for row in held] == [(node, "by hand")]
        remedies = await second.get("/v1/remedies")
        assert remedies["acts"]
        assert [row["node"] for row in remedies["remedies"]] == [node]
        assert "leads, send it there" in await second.get(f"/incidents/{incident['id']}")
        for path, wish in (
            ("/v1/silences", SILENCE),
            (f"/v1/remedies/{node}/approve", {**hold, "plan": remedies["remedies"][0]["plan"]}),
            ("/v1/stop", hold),
            (f"/v1/incidents/{incident['id']}/close", hold),
        ):
            refused = await second.post(path, 409, json=wish)
            assert "this hub only follows" in refused
            assert "send it there (--hub http://127.0.0.1:9401)" in refused
        for path in (
            "/v1/rules",
            f"/v1/explain?rule=gpu.lost&entity={node}",
            f"/v1/plan?node={node}",
        ):
            assert "this hub only follows" in await second.get(path, 409)
        assert await first.get("/-/leader") == "leads\n"
        assert await second.get("/-/leader", 503) == "does not lead\n"

    async def main() -> None:
        async with pair(database, tmp_path) as both:
            await play(both)

    asyncio.run(main())
    assert world.nodes["n1"].mark is None
