"""A rule file that is broken while a hub runs: people are notified once, and once when it is mended."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from accelwatch.alerting.evaluation import evaluation_loop
from accelwatch.alerting.evaluation.notifier_owner import NotifiedBy
from accelwatch.alerting.evaluation.notifying import Notifying
from accelwatch.alerting.evaluation.self_check import checks, own_problems
from accelwatch.config.alerts import Alerts, SinkSettings
from fleet.remedies.hub_site import HubSite, until
from remediation.fake_scheduler import FakeScheduler
from support.servers.receivers import Receiver, receiver


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks and waits are shorter than half a minute."""
    monkeypatch.setattr(evaluation_loop, "CHECK_EVERY_S", 0.1)
    monkeypatch.setattr(checks, "CHECK_EVERY_S", 0.1)
    monkeypatch.setattr(own_problems, "NOTIFIED_AFTER_S", 0.3)


def notices(there: Receiver) -> list[dict[str, Any]]:
    return [request.json()["data"] for request in there.requests]


def sent_to(site: HubSite, there: Receiver) -> None:
    sink = SinkSettings(name="a", type="webhook", options={"url": f"{there.base}/x"})
    site.alerts = Alerts(sinks=(sink,), storm_wait_s=0.0)


def test_a_broken_rule_file_is_notified_once_and_its_mend_once(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)
    file = tmp_path / "rules.yaml"
    good = file.read_text(encoding="utf-8")

    async def scenario() -> None:
        async with receiver() as there:
            sent_to(site, there)
            async with site.running() as (rules, _):
                file.write_text(good + "- id: [", encoding="utf-8")
                await there.wait_for(1)
                # Broken in another way, and read on request: nobody is notified once more.
                file.write_text(good + "- nonsense", encoding="utf-8")
                await until(lambda: any("a mapping is expected" in one for one in rules.problems))
                rules.refuse("rules.yaml: broken")
                await asyncio.sleep(1.0)
                assert len(there.requests) == 1
                file.write_text(good, encoding="utf-8")
                await there.wait_for(2)
                await asyncio.sleep(1.0)
            first, last = notices(there)
            assert (first["kind"], last["kind"]) == ("opened", "closed")
            assert first["rule"] == "accelwatch.own.rules"
            assert "rules.yaml" in first["evidence"][0]
            assert "accelwatch rules check" in first["what_to_do"]

    asyncio.run(scenario())


def test_a_configuration_that_is_refused_is_notified_until_it_is_in_force(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)

    async def scenario() -> None:
        async with receiver() as there:
            sent_to(site, there)
            async with site.running() as (rules, _):
                rules.refuse("hub.yaml:7: alerts.sinks: no such type")
                await there.wait_for(1)
                rules.refuse("")
                await there.wait_for(2)
            first, last = notices(there)
            assert (first["kind"], last["kind"]) == ("opened", "closed")
            assert "hub.yaml:7" in first["evidence"][0]

    asyncio.run(scenario())


def test_an_agent_whose_hub_notifies_people_leaves_it_to_its_log(
    tmp_path: Path, fake_plugin: list[FakeScheduler], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)
    monkeypatch.setattr(Notifying, "by", NotifiedBy.HUB)

    async def scenario() -> None:
        async with receiver() as there:
            sent_to(site, there)
            async with site.running() as (rules, _):
                (tmp_path / "rules.yaml").write_text("version: 9", encoding="utf-8")
                await until(lambda: any("refused" in one for one in rules.problems))
                await asyncio.sleep(1.0)
            assert there.requests == []

    asyncio.run(scenario())
