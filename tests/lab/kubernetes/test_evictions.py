"""How an API server evicts: budgets, uids, dry runs; on the stand-in and on real servers."""

import asyncio
from typing import Any

import pytest

from support.kubernetes.objects import (
    BUDGETS,
    MERGE,
    NODES,
    PODS,
    budget,
    eviction,
    node,
    pod,
    running,
)
from support.kubernetes.served import ServedCluster

Object = dict[str, Any]
_WAIT_S = 30


async def created(cluster: ServedCluster, *names: str, ready: bool = True) -> list[Object]:
    """Pods that run on a node, as they were made."""
    await cluster.ask("POST", NODES, node())
    made = []
    for name in names:
        made.append(await cluster.ask("POST", PODS, pod(name, app="a")))
        await cluster.ask("PATCH", f"{PODS}/{name}/status", running(ready=ready), MERGE)
    return made


async def protect(cluster: ServedCluster, name: str = "b", *, available: int, allowed: int) -> None:
    """A budget that its controller has looked at."""
    await cluster.ask("POST", BUDGETS, budget(name, min_available=available, app="a"))
    async with asyncio.timeout(_WAIT_S):
        while await allowed_by(cluster, name) != (1, allowed):
            await asyncio.sleep(0.02)


async def allowed_by(cluster: ServedCluster, name: str = "b") -> tuple[int, int]:
    """Generation that a budget's status is of, and the disruptions that it allows."""
    status = (await cluster.ask("GET", f"{BUDGETS}/{name}"))["status"]
    return status.get("observedGeneration", 0), status["disruptionsAllowed"]


async def evict(cluster: ServedCluster, name: str = "p1", **options: Any) -> tuple[int, Object]:
    return await cluster.request("POST", f"{PODS}/{name}/eviction", eviction(name, **options))


async def is_ending(cluster: ServedCluster, name: str = "p1") -> bool:
    return "deletionTimestamp" in (await cluster.ask("GET", f"{PODS}/{name}"))["metadata"]


def causes(refusal: Object) -> list[str]:
    return [cause["reason"] for cause in refusal.get("details", {}).get("causes", ())]


def test_trap_11_a_budget_that_never_allows_is_429_with_its_cause_and_no_time(
    cluster: ServedCluster,
) -> None:
    async def run() -> None:
        await created(cluster, "p1")
        await protect(cluster, available=1, allowed=0)
        for _ in range(2):
            status, refusal = await evict(cluster)
            assert (status, refusal["reason"]) == (429, "TooManyRequests")
            assert causes(refusal) == ["DisruptionBudget"]
            assert "retryAfterSeconds" not in refusal["details"]
        assert not await is_ending(cluster)

    asyncio.run(run())


def test_trap_11_two_budgets_on_one_pod_are_a_server_error(cluster: ServedCluster) -> None:
    async def run() -> None:
        await created(cluster, "p1", "p2")
        await protect(cluster, "b", available=1, allowed=1)
        await protect(cluster, "c", available=1, allowed=1)
        status, refusal = await evict(cluster)
        assert status == 500
        assert "more than one PodDisruptionBudget" in refusal["message"]
        assert not await is_ending(cluster)

    asyncio.run(run())


def test_trap_12_a_wrong_uid_is_a_conflict_that_spends_the_budget(cluster: ServedCluster) -> None:
    async def run() -> None:
        await created(cluster, "p1", "p2")
        await protect(cluster, available=1, allowed=1)
        status, refusal = await evict(cluster, preconditions={"uid": "another"})
        assert (status, refusal["reason"]) == (409, "Conflict")
        assert await allowed_by(cluster) == (1, 0)
        status, refusal = await evict(cluster, "p2")
        assert (status, causes(refusal)) == (429, ["DisruptionBudget"])
        assert not await is_ending(cluster)

    asyncio.run(run())


def test_the_right_uid_is_evicted_and_its_condition_says_by_whom(cluster: ServedCluster) -> None:
    async def run() -> None:
        made, _ = await created(cluster, "p1", "p2")
        await protect(cluster, available=1, allowed=1)
        status, _answer = await evict(cluster, preconditions={"uid": made["metadata"]["uid"]})
        assert status == 201
        found = await cluster.ask("GET", f"{PODS}/p1")
        assert found["metadata"]["deletionGracePeriodSeconds"] == 30
        conditions = {
            each["type"]: each["reason"]
            for each in found["status"]["conditions"]
            if "reason" in each
        }
        assert conditions["DisruptionTarget"] == "EvictionByEvictionAPI"

    asyncio.run(run())


def test_a_deletion_leaves_no_condition(cluster: ServedCluster) -> None:
    async def run() -> None:
        await created(cluster, "p1")
        await cluster.ask("DELETE", f"{PODS}/p1")
        found = await cluster.ask("GET", f"{PODS}/p1")
        assert "deletionTimestamp" in found["metadata"]
        assert "DisruptionTarget" not in {each["type"] for each in found["status"]["conditions"]}

    asyncio.run(run())


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
def test_pods_that_do_not_run_skip_the_budget(cluster: ServedCluster, phase: str) -> None:
    async def run() -> None:
        await created(cluster, "p1")
        patch = {"status": {**running(ready=False)["status"], "phase": phase}}
        if phase == "Pending":
            # A phase is not taken back: another pod that has none yet.
            await cluster.ask("POST", PODS, pod("p2", app="a"))
        else:
            await cluster.ask("PATCH", f"{PODS}/p1/status", patch, MERGE)
        await protect(cluster, available=2, allowed=0)
        assert (await evict(cluster, "p2" if phase == "Pending" else "p1"))[0] == 201

    asyncio.run(run())


def test_a_pod_that_ends_may_be_evicted_again(cluster: ServedCluster) -> None:
    async def run() -> None:
        await created(cluster, "p1", "p2")
        await protect(cluster, available=1, allowed=1)
        assert [(await evict(cluster))[0] for _ in range(2)] == [201, 201]

    asyncio.run(run())


def test_a_pod_that_is_not_ready_obeys_the_policy_for_unhealthy_ones(
    cluster: ServedCluster,
) -> None:
    async def run() -> None:
        await created(cluster, "p1", ready=False)
        await protect(cluster, available=1, allowed=0)
        assert (await evict(cluster))[0] == 429
        policy = {"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}}
        await cluster.ask("PATCH", f"{BUDGETS}/b", policy, MERGE)
        assert (await evict(cluster))[0] == 201

    asyncio.run(run())


def test_a_dry_run_asks_the_budget_and_spends_nothing(cluster: ServedCluster) -> None:
    async def run() -> None:
        await created(cluster, "p1", "p2")
        await protect(cluster, available=1, allowed=1)
        for _ in range(2):
            assert (await evict(cluster, dryRun=["All"]))[0] == 201
        path = f"{PODS}/p1/eviction?dryRun=All"
        assert (await cluster.request("POST", path, eviction(dryRun=["All"])))[0] == 201
        assert await allowed_by(cluster) == (1, 1)
        assert not await is_ending(cluster)
        await cluster.ask("PATCH", f"{BUDGETS}/b", {"spec": {"minAvailable": 2}}, MERGE)
        async with asyncio.timeout(_WAIT_S):
            while await allowed_by(cluster) != (2, 0):
                await asyncio.sleep(0.02)
        status, refusal = await evict(cluster, dryRun=["All"])
        assert (status, causes(refusal)) == (429, ["DisruptionBudget"])

    asyncio.run(run())


def test_an_eviction_of_another_name_is_refused(cluster: ServedCluster) -> None:
    async def run() -> None:
        await created(cluster, "p1")
        status, refusal = await cluster.request("POST", f"{PODS}/p1/eviction", eviction("p2"))
        assert (status, refusal["reason"]) == (400, "BadRequest")
        status, refusal = await evict(cluster, "none")
        assert (status, refusal["reason"]) == (404, "NotFound")

    asyncio.run(run())
