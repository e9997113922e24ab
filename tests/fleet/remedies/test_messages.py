"""How often people are notified of one fault, from its first message to its end, and what each says."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.alerting.evaluation.describing import document_of
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.config.alerts import Alerts, SinkSettings
from accelwatch.remediation.policy.state.stage import Stage
from fleet.remedies.hub_site import HubSite, until
from remediation.fake_scheduler import FakeScheduler
from support.servers.receivers import Receiver, receiver


def notified(site: HubSite, there: Receiver, resolve_after_s: float = 0.0) -> None:
    sink = SinkSettings(name="a", type="webhook", options={"url": f"{there.base}/x"})
    site.alerts = Alerts(sinks=(sink,), storm_wait_s=0.0, resolve_after_s=resolve_after_s)


def notifications(there: Receiver) -> list[dict[str, Any]]:
    return [request.json()["data"] for request in there.requests]


def kinds(there: Receiver) -> list[str]:
    return [str(one["kind"]) for one in notifications(there)]


def test_a_fault_that_is_handled_alone_makes_two_messages(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)
    site.world.add_job("17", "n1")

    async def scenario() -> None:
        async with receiver() as there:
            notified(site, there)
            async with site.running() as (rules, remedies):
                site.watts = 100.0
                await there.wait_for(1)
                await until(lambda: site.quarantined("n1"))
                # The fault is over long before the node has shown that it is well.
                await until(lambda: "a" in remedies.engine.state.remedies)
                site.watts = 400.0
                await until(lambda: not rules.open)
                await until(lambda: not remedies.engine.state.remedies)
                await there.wait_for(2)
            first, last = notifications(there)
            assert (first["kind"], last["kind"]) == ("opened", "closed")
            (plan,) = first["plans"]
            assert (plan["node"], plan["at"], plan["held_back"]) == ("a", None, "")
            step = "take a out of the pool; job 17 of user runs there until it ends"
            assert plan["steps"][0] == step
            # One device, whose job only the scheduler knows, for the mean hour and a half.
            assert plan["saved_gpu_hours"] == 1.5
            done = "\n".join(last["done"])
            for text in (
                "a takes no new work",
                "a is healthy: no fault for",
                "a takes work again",
            ):
                assert text in done

    asyncio.run(scenario())


@pytest.mark.parametrize("severity", ["warning", "critical"])
def test_the_first_message_is_the_question_and_silence_rings_only_if_it_is_critical(
    tmp_path: Path, fake_plugin: list[FakeScheduler], severity: str
) -> None:
    site = HubSite(tmp_path, mode="approve")
    fake_plugin.append(site.world)
    site.settings = msgspec.structs.replace(site.settings, approval_s=2.0)
    file = tmp_path / "rules.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("severity: critical", f"severity: {severity}"), encoding="utf-8")

    async def scenario() -> None:
        async with receiver() as there:
            notified(site, there)
            async with site.running() as (rules, _):
                site.watts = 100.0
                await until(lambda: any("not approved" in one for one in lines(rules.open)))
                site.watts = 400.0
                await until(lambda: "closed" in kinds(there))
            called = ["called"] if severity == "critical" else []
            assert kinds(there) == ["opened", *called, "closed"]
            first, *_, last = notifications(there)
            assert first["asks"][0]["node"] == "a"
            assert any("not approved in time" in line for line in last["done"])

    asyncio.run(scenario())


def lines(incidents: list[Incident]) -> list[str]:
    return [entry.text for one in incidents for entry in one.timeline]


def test_whose_job_is_on_the_node_is_known_from_the_scheduler(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    site = HubSite(tmp_path, mode="observe")
    fake_plugin.append(site.world)
    site.world.add_job("17", "n1").user = "ada"
    site.world.add_job("18", "n2").user = "eve"

    async def scenario() -> None:
        async with receiver() as there:
            notified(site, there)
            async with site.running() as (rules, remedies):
                await until(lambda: "n1" in remedies.engine.state.world.scheduler_nodes)
                site.watts = 100.0
                await there.wait_for(1)
                (document,) = (document_of(one) for one in rules.open)
            (first,) = notifications(there)
            assert (first["jobs"], first["users"]) == (["17"], ["ada"])
            assert (document.jobs, document.users) == (("17",), ("ada",))

    asyncio.run(scenario())


def test_what_is_held_back_says_so_in_the_first_message(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)
    (tmp_path / "STOP").touch()

    async def scenario() -> None:
        async with receiver() as there:
            notified(site, there)
            async with site.running():
                site.watts = 100.0
                await there.wait_for(1)
            (first,) = notifications(there)
            (plan,) = first["plans"]
            assert "stop" in plan["held_back"].lower()

    asyncio.run(scenario())


def test_a_rule_that_only_observes_announces_nothing(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    site = HubSite(tmp_path, mode="observe")
    fake_plugin.append(site.world)

    async def scenario() -> None:
        async with receiver() as there:
            notified(site, there)
            async with site.running():
                site.watts = 100.0
                await there.wait_for(1)
            (first,) = notifications(there)
            assert not first["plans"]

    asyncio.run(scenario())


def test_what_flaps_makes_two_messages_whatever_is_done_about_it(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)

    async def scenario() -> None:
        async with receiver() as there:
            notified(site, there)
            async with site.running() as (rules, remedies):

                def the_incident() -> Incident:
                    (one,) = (*rules.open, *rules.closed)
                    return one

                site.watts = 100.0
                await there.wait_for(1)
                for times in (1, 2, 3):
                    await until(lambda: site.quarantined("n1"))
                    site.watts = 400.0
                    await until(lambda: not the_incident().is_open)
                    stage = remedies.engine.state.remedies["a"].stage
                    assert stage in (Stage.QUARANTINED, Stage.VERIFYING)
                    site.watts = 100.0
                    await until(lambda n=times: the_incident().reopened == n)  # type: ignore[misc]
                site.watts = 400.0
                await until(lambda: not remedies.engine.state.remedies)
                assert kinds(there) == ["opened"], "it may come back for its whole cool-down"
                assert the_incident().reopened == 3

    asyncio.run(scenario())
