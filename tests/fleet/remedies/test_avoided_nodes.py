"""`/v1/avoid` of a hub that acts: the nodes that it holds out of their scheduler."""

import asyncio
import json
from pathlib import Path
from typing import Any

from accelwatch.fleet.avoid.page import AvoidPages
from accelwatch.fleet.remedies.current import CurrentRemedies
from fleet.remedies.hub_site import HubSite, until
from remediation.fake_scheduler import FakeScheduler


def test_a_node_that_we_hold_out_is_listed_by_its_scheduler_s_name(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)

    async def scenario() -> None:
        async with site.running() as (rules, remedies):
            pages = AvoidPages(site.fleet, lambda: rules, lambda: remedies)

            def listed() -> list[dict[str, Any]]:
                found: list[dict[str, Any]] = json.loads(pages.page({}, {}).body)["nodes"]
                return found

            assert listed() == []
            site.watts = 100.0
            await until(lambda: site.quarantined("n1"))
            await until(lambda: len(listed()) == 1 and len(listed()[0]["reasons"]) == 2)
            (row,) = listed()
            assert (row["node"], row["scheduler_name"], row["host"]) == ("a", "n1", "n1.example")
            assert [reason["kind"] for reason in row["reasons"]] == ["quarantined", "incident"]
            assert row["reasons"][0]["incident"] == row["reasons"][1]["incident"]

    asyncio.run(scenario())


def test_a_hub_that_follows_names_the_node_as_the_hub_does_that_leads(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)

    async def scenario() -> None:
        async with site.running() as (rules, remedies):
            leads = AvoidPages(site.fleet, lambda: rules, lambda: remedies)
            follows = AvoidPages(
                site.fleet,
                lambda: rules,
                followed=lambda: CurrentRemedies(remedies.engine.state, remedies.settings, {}, ()),
            )
            site.watts = 100.0
            await until(lambda: site.quarantined("n1"))
            await until(lambda: b"quarantined" in follows.page({}, {}).body)
            (row,) = json.loads(follows.page({}, {}).body)["nodes"]
            assert row["scheduler_name"] == "n1"
            assert [row] == json.loads(leads.page({}, {}).body)["nodes"]

    asyncio.run(scenario())
