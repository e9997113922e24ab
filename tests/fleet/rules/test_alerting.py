"""From a rule that fires on the hub to a receiver, over restarts and other settings."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.alerting.incidents.model.silence import Maintenance, Silence, matchers
from accelwatch.config.alerts import Alerts, DeadMan, SinkSettings
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.rules.evaluator import FleetEvaluator
from support.fleet.two_nodes import TwoNodes, view
from support.servers.receivers import Receiver, code, receiver

POWER = ("power_watts",)
LOW = """\
version: 1
defaults: {keep: 0, cooldown: 1m}
rules:
- id: low
  title: Too little power
  when: power_watts < 200
  severity: critical
"""


class Site(TwoNodes):
    """A fleet, a rule, and a folder for the journal."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        file = folder / "rules.yaml"
        file.write_text(LOW, encoding="utf-8")
        self.settings = RuleSettings(files=(str(file),))

    def runner(self, alerts: Alerts) -> RuleRunner:
        return RuleRunner(FleetEvaluator(self.fleet), self.settings, self.folder, alerts=alerts)

    async def tick(self, runner: RuleRunner, watts: float) -> None:
        self.report("a", view(0, {POWER: watts}))
        await runner.tick()
        self.clock.advance(1.0)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def to(there: Receiver, name: str = "a", **more: Any) -> Alerts:
    sink = SinkSettings(
        name=name, type="webhook", timeout_s=2.0, options={"url": f"{there.base}/{name}"}
    )
    # An end is notified at once: what comes back soon is tried where messages are queued.
    more = {"resolve_after_s": 0.0, **more}
    return Alerts(sinks=(sink,), external_url="https://hub/", **more)


def test_what_a_rule_finds_is_published_and_so_is_its_end(site: Site) -> None:
    async def scenario() -> None:
        async with receiver() as there:
            runner = site.runner(to(there))
            await runner.start()
            await site.tick(runner, 100.0)
            await there.wait_for(1)
            await site.tick(runner, 300.0)
            opened, closed = await there.wait_for(2)
            document: Any = opened.json()["data"]
            assert (document["title"], document["nodes"]) == ("Too little power", ["a"])
            assert document["link"] == "https://hub/v1/incidents/i1"
            assert closed.json()["type"] == "incident.closed"
            assert runner.problems == ()
            await runner.stop()

    asyncio.run(scenario())


def test_a_restart_reports_nothing_twice_and_forgets_nothing(site: Site) -> None:
    async def scenario() -> None:
        async with receiver(code(200), code(500), code(200)) as there:
            runner = site.runner(to(there))
            await runner.start()
            await site.tick(runner, 100.0)
            await there.wait_for(1)
            await asyncio.sleep(0.1)
            await site.tick(runner, 300.0)
            await there.wait_for(2)
            await runner.stop()
            # The end has not arrived yet, and does not need to be noticed anew.
            site.clock.advance(60.0)
            again = site.runner(to(there))
            await again.start()
            requests = await there.wait_for(3)
            await asyncio.sleep(0.1)
            await again.stop()
            types = [request.json()["type"] for request in requests]
            assert types == ["incident.opened", "incident.closed", "incident.closed"]

    asyncio.run(scenario())


def test_other_settings_notify_others_of_what_is_open(site: Site) -> None:
    async def scenario() -> None:
        async with receiver() as there:
            runner = site.runner(Alerts())
            await runner.start()
            await site.tick(runner, 100.0)
            await runner.reload(site.settings, to(there, "b"))
            (request,) = await there.wait_for(1)
            assert request.path == "/b"
            await runner.reload(site.settings, to(there, "b"))
            await runner.reload(site.settings, Alerts())
            await site.tick(runner, 300.0)
            await asyncio.sleep(0.1)
            assert len(there.requests) == 1
            await runner.stop()

    asyncio.run(scenario())


def test_what_does_not_arrive_is_a_problem_of_the_hub(site: Site) -> None:
    async def scenario() -> None:
        async with receiver(code(500)) as there:
            runner = site.runner(to(there))
            await runner.start()
            await site.tick(runner, 100.0)
            async with asyncio.timeout(60):
                while not runner.problems:
                    await asyncio.sleep(0.01)
            (problem,) = runner.problems
            assert problem.startswith("alerts.a: 1 wait for ")
            await runner.stop()

    asyncio.run(scenario())


def test_what_is_silenced_is_notified_when_the_silence_ends_while_it_is_open(site: Site) -> None:
    async def scenario() -> None:
        async with receiver() as there:
            runner = site.runner(to(there))
            await runner.start()
            now = site.clock.wall()
            silence = Silence(
                id="s9",
                matchers=matchers("node=a"),
                starts=now,
                ends=now + 30.0,
                by="ana",
                reason="swap",
            )
            assert await runner.incident_store.mutes.mute(silence) == ""
            await site.tick(runner, 100.0)
            (incident,) = runner.open
            assert runner.mute_of(incident) is not None
            await site.tick(runner, 300.0)
            await site.tick(runner, 100.0)
            await asyncio.sleep(0.1)
            assert there.requests == []
            site.clock.advance(30.0)
            await site.tick(runner, 100.0)
            (request,) = await there.wait_for(1)
            assert request.json()["type"] == "incident.opened"
            assert runner.mute_of(runner.open[0]) is None
            await runner.stop()

    asyncio.run(scenario())


def test_after_a_restart_what_is_silenced_stays_so(site: Site) -> None:
    async def scenario() -> None:
        async with receiver() as there:
            runner = site.runner(to(there))
            await runner.start()
            now = site.clock.wall()
            window = Maintenance(
                id="m9", nodes=("a",), starts=now, ends=now + 600, by="ana", reason="BIOS"
            )
            await runner.incident_store.mutes.mute(window)
            await site.tick(runner, 100.0)
            await runner.stop()
            again = site.runner(to(there))
            await again.start()
            await site.tick(again, 100.0)
            await asyncio.sleep(0.1)
            assert there.requests == []
            await again.incident_store.mutes.unmute("m9", "ana")
            await there.wait_for(1)
            await again.stop()

    asyncio.run(scenario())


def test_the_dead_man_gets_pings_of_a_hub_that_evaluates(site: Site, tmp_path: Path) -> None:
    async def scenario() -> None:
        # Only this scenario evaluates rules.
        site.settings = msgspec.structs.replace(site.settings, interval_s=60.0)
        async with receiver() as there:
            secret = tmp_path / "url"
            secret.write_text(f"{there.base}/ping")
            runner = site.runner(Alerts(dead_man=DeadMan(url_file=str(secret), interval_s=0.01)))
            await runner.start()
            await site.tick(runner, 300.0)
            await there.wait_for(1)
            silent = "alerts.dead_man: not pinged, because there are problems"
            async with asyncio.timeout(60):
                site.clock.advance(3600.0)  # in which it has not judged
                while silent not in runner.problems:
                    await asyncio.sleep(0.01)
                pinged = len(there.requests)
                await site.tick(runner, 300.0)
                await there.wait_for(pinged + 1)
                while silent in runner.problems:
                    await asyncio.sleep(0.01)
            await runner.stop()

    asyncio.run(scenario())
