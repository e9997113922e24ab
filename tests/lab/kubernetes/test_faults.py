"""How the stand-in misbehaves when it is told to."""

import asyncio
from typing import Any

import aiohttp
import pytest

from accelwatch_lab.cluster.kubernetes.access import Account
from accelwatch_lab.cluster.kubernetes.api_server.access import User
from accelwatch_lab.cluster.kubernetes.api_server.faults import Fault, denied
from support.kubernetes.objects import MERGE, NODES, node
from support.kubernetes.stand_in import StandInCluster

CORDON = {"spec": {"unschedulable": True}}


@pytest.mark.parametrize("status", [401, 409, 410, 422, 429, 500, 503])
def test_a_request_is_refused_as_often_as_the_rule_says(
    stand_in: StandInCluster, status: int
) -> None:
    async def run() -> None:
        await stand_in.ask("POST", NODES, node())
        stand_in.server.faults.add(Fault(method="PATCH", path="/nodes/n1$", status=status, times=2))
        for _ in range(2):
            answered, refusal = await stand_in.request("PATCH", f"{NODES}/n1", CORDON, kind=MERGE)
            assert (answered, refusal["code"]) == (status, status)
        await stand_in.ask("PATCH", f"{NODES}/n1", CORDON, MERGE)

    asyncio.run(run())
    assert [entry.status for entry in stand_in.server.log.writes("/n1")] == [status, status, 200]


def test_a_rule_leaves_the_first_alone_and_others_too(stand_in: StandInCluster) -> None:
    async def run() -> None:
        stand_in.server.faults.add(Fault(path="/nodes$", query="limit=7", skip=1, status=410))
        answers = [await stand_in.request("GET", f"{NODES}?limit=7") for _ in range(3)]
        assert [status for status, _ in answers] == [200, 410, 200]
        assert (await stand_in.request("GET", f"{NODES}?limit=8"))[0] == 200

    asyncio.run(run())


def test_a_429_has_the_cause_and_the_time_of_the_rule(stand_in: StandInCluster) -> None:
    async def run() -> None:
        stand_in.server.faults.add(
            Fault(status=429, causes=("DisruptionBudget",)), Fault(status=429, retry_after_s=3)
        )
        url, _, token = stand_in.access(Account.ADMIN)
        async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as session:
            for causes, after in ((["DisruptionBudget"], None), ([], "3")):
                async with session.get(f"{url}{NODES}", ssl=stand_in.tls) as answer:
                    details = (await answer.json()).get("details", {})
                    assert [cause["reason"] for cause in details.get("causes", ())] == causes
                    assert answer.headers.get("Retry-After") == after

    asyncio.run(run())


@pytest.mark.parametrize(("effect", "stored"), [("drop", False), ("drop_after", True)])
def test_a_connection_is_dropped_before_or_after_the_effect(
    stand_in: StandInCluster, effect: Any, stored: bool
) -> None:
    async def run() -> None:
        stand_in.server.faults.add(Fault(method="POST", effect=effect))
        with pytest.raises(aiohttp.ClientError):
            await stand_in.request("POST", NODES, node())
        assert bool((await stand_in.ask("GET", NODES))["items"]) is stored

    asyncio.run(run())


def test_a_request_hangs(stand_in: StandInCluster) -> None:
    async def run() -> None:
        stand_in.server.faults.add(Fault(effect="hang"))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(stand_in.request("GET", NODES), 0.2)
        assert (await stand_in.request("GET", NODES))[0] == 200

    asyncio.run(run())


def test_a_webhook_refuses(stand_in: StandInCluster) -> None:
    async def run() -> None:
        await stand_in.ask("POST", NODES, node())
        stand_in.server.faults.add(denied("nodes.example.com", "not on a Friday", method="PATCH"))
        status, refusal = await stand_in.request("PATCH", f"{NODES}/n1", CORDON, kind=MERGE)
        assert (status, refusal["reason"]) == (403, "Forbidden")
        assert "not on a Friday" in refusal["message"]

    asyncio.run(run())


def test_a_webhook_rewrites_what_is_written(stand_in: StandInCluster) -> None:
    async def run() -> None:
        await stand_in.ask("POST", NODES, node())
        rewritten: dict[str, Any] = {"spec": {"unschedulable": None, "taints": []}}
        stand_in.server.faults.add(Fault(method="PATCH", effect="rewrite", merge=rewritten))
        changed = await stand_in.ask("PATCH", f"{NODES}/n1", CORDON, MERGE)
        assert changed["spec"] == {"taints": []}

    asyncio.run(run())


def test_watches_are_dropped_and_old_versions_gone(stand_in: StandInCluster) -> None:
    async def run() -> None:
        version = (await stand_in.ask("GET", NODES))["metadata"]["resourceVersion"]
        await stand_in.ask("POST", NODES, node())
        path = f"{NODES}?watch=1&resourceVersion={version}"
        async with stand_in.watch(path) as events:
            assert (await anext(events))["type"] == "ADDED"
            await asyncio.to_thread(stand_in.drop_watches)
            assert [event async for event in events] == []
        await asyncio.to_thread(stand_in.compact)
        async with stand_in.watch(path) as events:
            (event,) = [event async for event in events]
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)

    asyncio.run(run())


def test_pages_of_before_a_compaction_are_gone(stand_in: StandInCluster) -> None:
    async def run() -> None:
        for number in range(3):
            await stand_in.ask("POST", NODES, node(f"n{number}"))
        first = await stand_in.ask("GET", f"{NODES}?limit=1")
        await asyncio.to_thread(stand_in.compact)
        token = first["metadata"]["continue"]
        status, refusal = await stand_in.request("GET", f"{NODES}?limit=1&continue={token}")
        assert (status, refusal["reason"]) == (410, "Expired")

    asyncio.run(run())


def test_a_bookmark_says_how_far_a_silent_watch_is(stand_in: StandInCluster) -> None:
    async def run() -> None:
        stand_in.server.watcher.bookmark_s = 0.01
        version = (await stand_in.ask("GET", "/api/v1/pods"))["metadata"]["resourceVersion"]
        made = await stand_in.ask("POST", NODES, node())
        query = f"watch=1&allowWatchBookmarks=true&resourceVersion={version}"
        async with stand_in.watch(f"/api/v1/pods?{query}") as events:
            event = await anext(events)
        assert event["type"] == "BOOKMARK"
        assert event["object"]["metadata"] == {
            "resourceVersion": made["metadata"]["resourceVersion"]
        }

    asyncio.run(run())


def test_a_clock_is_ahead(stand_in: StandInCluster) -> None:
    async def run() -> None:
        stand_in.server.clock.skew_s = 86400 * 365 * 50
        made = await stand_in.ask("POST", NODES, node())
        assert made["metadata"]["creationTimestamp"] > "2070"

    asyncio.run(run())


def test_a_token_expires(stand_in: StandInCluster) -> None:
    async def run() -> None:
        access, clock = stand_in.server.access, stand_in.server.clock
        token = stand_in.access(Account.HUB).token
        access.add(token, User(name="hub", groups=("system:masters",), expires_at=clock.now() + 60))
        assert (await stand_in.request("GET", NODES, account=Account.HUB))[0] == 200
        clock.skew_s = 61.0
        assert (await stand_in.request("GET", NODES, account=Account.HUB))[0] == 401

    asyncio.run(run())


def test_a_server_that_is_killed_knows_what_it_knew(stand_in: StandInCluster) -> None:
    asyncio.run(stand_in.ask("POST", NODES, node()))
    stand_in.kill_api_server()
    with pytest.raises(aiohttp.ClientError):
        asyncio.run(stand_in.request("GET", NODES))
    stand_in.start_api_server()
    assert asyncio.run(stand_in.ask("GET", f"{NODES}/n1"))["metadata"]["name"] == "n1"
