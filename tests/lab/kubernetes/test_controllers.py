"""What controllers do by themselves: taints, Jobs; on the stand-in and on real servers."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from support.kubernetes.kubelets import Kubelets
from support.kubernetes.objects import BUDGETS as BUDGETS_PATH
from support.kubernetes.objects import (
    JOBS,
    MERGE,
    NODES,
    PODS,
    STRATEGIC,
    budget,
    eviction,
    pod,
    running,
)
from support.kubernetes.served import ServedCluster

Object = dict[str, Any]
_WAIT_S = 60
EFFECTS = ("NoSchedule", "NoExecute")
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
# A deadline that does not pass between two requests of a machine that stands still for a while.
FIRST_S = 8
NO_EXECUTE = {"key": "accelwatch.io/quarantine", "value": "xid", "effect": "NoExecute"}


async def until(read: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(_WAIT_S):
        while not await read():
            await asyncio.sleep(0.02)


def on_nodes(
    cluster: ServedCluster, check: Callable[[Kubelets], Coroutine[Any, Any, None]]
) -> None:
    async def run() -> None:
        kubelets = Kubelets(cluster)
        for name in ("n1", "n2"):
            await kubelets.add_node(name)
        await check(kubelets)

    asyncio.run(run())


async def taints(cluster: ServedCluster, name: str = "n1") -> set[tuple[str, str]]:
    found = await cluster.ask("GET", f"{NODES}/{name}")
    return {(taint["key"], taint["effect"]) for taint in found["spec"].get("taints", ())}


def test_a_cordon_becomes_a_taint_that_lets_pods_run(cluster: ServedCluster) -> None:
    async def check(_: Kubelets) -> None:
        await cluster.ask("PATCH", f"{NODES}/n1", {"spec": {"unschedulable": True}}, MERGE)
        await until(lambda: has_taint(True))
        # Not NoExecute, as Kueue's KEP says.
        assert await taints(cluster) == {(_UNSCHEDULABLE, "NoSchedule")}
        await cluster.ask("PATCH", f"{NODES}/n1", {"spec": {"unschedulable": None}}, MERGE)
        await until(lambda: has_taint(False))

    async def has_taint(expected: bool) -> bool:
        return ((_UNSCHEDULABLE, "NoSchedule") in await taints(cluster)) is expected

    on_nodes(cluster, check)


@pytest.mark.parametrize(("ready", "key"), [("False", "not-ready"), ("Unknown", "unreachable")])
def test_a_node_that_is_not_ready_is_tainted_with_both_effects(
    cluster: ServedCluster, ready: str, key: str
) -> None:
    async def check(_: Kubelets) -> None:
        await report("True" if ready == "" else ready)
        await until(
            lambda: has_taints({("node.kubernetes.io/" + key, effect) for effect in EFFECTS})
        )
        await report("True")
        await until(lambda: has_taints(set()))

    async def report(status: str) -> None:
        condition = {"type": "Ready", "status": status}
        patch = {"status": {"conditions": [condition]}}
        await cluster.ask("PATCH", f"{NODES}/n1/status", patch, STRATEGIC)

    async def has_taints(expected: set[tuple[str, str]]) -> bool:
        return await taints(cluster) == expected

    on_nodes(cluster, check)


def test_trap_15_no_execute_ignores_a_budget(cluster: ServedCluster) -> None:
    async def check(_: Kubelets) -> None:
        await cluster.ask("POST", PODS, pod(app="a"))
        await cluster.ask("PATCH", f"{PODS}/p1/status", running(), MERGE)
        await cluster.ask("POST", BUDGETS_PATH, budget(app="a"))
        await until(is_processed)
        assert (await cluster.request("POST", f"{PODS}/p1/eviction", eviction()))[0] == 429
        await cluster.ask("PATCH", f"{NODES}/n1", {"spec": {"taints": [NO_EXECUTE]}}, MERGE)
        await until(is_ending)
        found = await cluster.ask("GET", f"{PODS}/p1")
        reasons = {each["type"]: each.get("reason") for each in found["status"]["conditions"]}
        assert reasons["DisruptionTarget"] == "DeletionByTaintManager"

    async def is_processed() -> bool:
        status = (await cluster.ask("GET", f"{BUDGETS_PATH}/b"))["status"]
        return bool(status.get("observedGeneration") == 1 and status["currentHealthy"] == 1)

    async def is_ending() -> bool:
        return "deletionTimestamp" in (await cluster.ask("GET", f"{PODS}/p1"))["metadata"]

    on_nodes(cluster, check)


def test_a_pod_that_tolerates_no_execute_for_a_time_goes_then(cluster: ServedCluster) -> None:
    async def check(_: Kubelets) -> None:
        for name, seconds in (("p1", 1), ("p2", 3600)):
            made = pod(name)
            made["spec"]["tolerations"].append(
                {
                    "key": NO_EXECUTE["key"],
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": seconds,
                }
            )
            await cluster.ask("POST", PODS, made)
            await cluster.ask("PATCH", f"{PODS}/{name}/status", running(), MERGE)
        await cluster.ask("PATCH", f"{NODES}/n1", {"spec": {"taints": [NO_EXECUTE]}}, MERGE)
        await until(is_ending)
        assert "deletionTimestamp" not in (await cluster.ask("GET", f"{PODS}/p2"))["metadata"]

    async def is_ending() -> bool:
        return "deletionTimestamp" in (await cluster.ask("GET", f"{PODS}/p1"))["metadata"]

    on_nodes(cluster, check)


def test_trap_15_the_deadline_of_a_taint_that_is_gone_stays_while_another_is_there(
    cluster: ServedCluster,
) -> None:
    other = {"key": "example.com/maintenance", "effect": "NoExecute"}

    async def check(_: Kubelets) -> None:
        made = pod()
        for taint, seconds in ((NO_EXECUTE, 2), (other, 3600)):
            toleration = {"key": taint["key"], "operator": "Exists", "effect": "NoExecute"}
            made["spec"]["tolerations"].append({**toleration, "tolerationSeconds": seconds})
        # The second tolerates neither: its end says that both have been seen.
        for each in (made, pod("p2")):
            await cluster.ask("POST", PODS, each)
            path = f"{PODS}/{each['metadata']['name']}/status"
            await cluster.ask("PATCH", path, running(), MERGE)
        both = {"spec": {"taints": [NO_EXECUTE, other]}}
        await cluster.ask("PATCH", f"{NODES}/n1", both, MERGE)
        await until(lambda: is_ending("p2"))
        await cluster.ask("PATCH", f"{NODES}/n1", {"spec": {"taints": [other]}}, MERGE)
        await until(lambda: is_ending("p1"))

    async def is_ending(name: str) -> bool:
        return "deletionTimestamp" in (await cluster.ask("GET", f"{PODS}/{name}"))["metadata"]

    on_nodes(cluster, check)


def test_a_pod_that_tolerates_what_is_left_for_ever_stays(cluster: ServedCluster) -> None:
    other = {"key": "example.com/maintenance", "effect": "NoExecute"}

    async def check(_: Kubelets) -> None:
        # The second does not tolerate what is left: its end says that this has been seen.
        for name, keys in (("p1", (NO_EXECUTE["key"], other["key"])), ("p2", (NO_EXECUTE["key"],))):
            made = pod(name)
            for key in keys:
                toleration = {"key": key, "operator": "Exists", "effect": "NoExecute"}
                limit = {"tolerationSeconds": FIRST_S} if key == NO_EXECUTE["key"] else {}
                made["spec"]["tolerations"].append({**toleration, **limit})
            await cluster.ask("POST", PODS, made)
            await cluster.ask("PATCH", f"{PODS}/{name}/status", running(), MERGE)
        await cluster.ask("PATCH", f"{NODES}/n1", {"spec": {"taints": [NO_EXECUTE]}}, MERGE)
        await cluster.ask("PATCH", f"{NODES}/n1", {"spec": {"taints": [other]}}, MERGE)
        await until(lambda: is_ending("p2"))
        await asyncio.sleep(FIRST_S + 1)
        assert not await is_ending("p1")

    async def is_ending(name: str) -> bool:
        return "deletionTimestamp" in (await cluster.ask("GET", f"{PODS}/{name}"))["metadata"]

    on_nodes(cluster, check)


def test_out_of_service_removes_what_no_kubelet_ends(cluster: ServedCluster) -> None:
    async def check(_: Kubelets) -> None:
        await cluster.ask("POST", PODS, pod())
        await cluster.ask("PATCH", f"{PODS}/p1/status", running(), MERGE)
        await cluster.ask("DELETE", f"{PODS}/p1")
        silent = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
        await cluster.ask("PATCH", f"{NODES}/n1/status", silent, STRATEGIC)
        out = {
            "key": "node.kubernetes.io/out-of-service",
            "value": "nodeshutdown",
            "effect": "NoExecute",
        }
        status = 409
        while status == 409:
            # The node lifecycle controller puts its taints there as well.
            found = await cluster.ask("GET", f"{NODES}/n1")
            metadata = {"resourceVersion": found["metadata"]["resourceVersion"]}
            taints = [*found["spec"].get("taints", ()), out]
            patch = {"metadata": metadata, "spec": {"taints": taints}}
            status, _answer = await cluster.request("PATCH", f"{NODES}/n1", patch, kind=MERGE)
        assert status == 200
        await until(is_gone)

    async def is_gone() -> bool:
        return (await cluster.request("GET", f"{PODS}/p1"))[0] == 404

    on_nodes(cluster, check)


def job(**spec: Any) -> Object:
    container = {"name": "main", "image": "example.invalid/none"}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    about = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
    return about | {"spec": {"template": template, **spec}}


IGNORE = {
    "rules": [
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    ]
}


class RunningJob:
    """A Job, and its pods as they are."""

    def __init__(self, cluster: ServedCluster) -> None:
        self._cluster = cluster

    async def pods(self) -> list[Object]:
        found = await self._cluster.ask("GET", f"{PODS}?labelSelector=job-name=j")
        return sorted(found["items"], key=lambda each: str(each["metadata"]["creationTimestamp"]))

    async def conditions(self) -> set[str]:
        found = await self._cluster.ask("GET", f"{JOBS}/j")
        return {each["type"] for each in found["status"].get("conditions", ())}

    async def has(self, *conditions: str) -> bool:
        return set(conditions) <= await self.conditions()

    async def runs(self, count: int = 1) -> bool:
        pods = await self.pods()
        return len(pods) == count and all(each["status"].get("phase") == "Running" for each in pods)

    async def evict(self) -> Object:
        found = (await self.pods())[0]
        name = found["metadata"]["name"]
        await self._cluster.ask("POST", f"{PODS}/{name}/eviction", eviction(name))
        return found


def with_job(
    cluster: ServedCluster,
    check: Callable[[Kubelets, RunningJob], Coroutine[Any, Any, None]],
    **spec: Any,
) -> None:
    async def run(kubelets: Kubelets) -> None:
        async with kubelets.running():
            await cluster.ask("POST", JOBS, job(**spec))
            running_job = RunningJob(cluster)
            await until(running_job.runs)
            await check(kubelets, running_job)

    on_nodes(cluster, run)


def test_a_job_is_complete_when_its_pod_is(cluster: ServedCluster) -> None:
    async def check(kubelets: Kubelets, running_job: RunningJob) -> None:
        await kubelets.finish((await running_job.pods())[0])
        await until(lambda: running_job.has("Complete"))

    with_job(cluster, check)


def test_trap_18_an_eviction_is_a_failure_at_once(cluster: ServedCluster) -> None:
    async def check(kubelets: Kubelets, running_job: RunningJob) -> None:
        kubelets.silent |= {"n1", "n2"}
        await running_job.evict()
        await until(lambda: running_job.has("FailureTarget"))
        assert "deletionTimestamp" in (await running_job.pods())[0]["metadata"]
        kubelets.silent.clear()
        await until(lambda: running_job.has("Failed"))

    with_job(cluster, check, backoffLimit=0)


def test_trap_18_the_replacement_stands_beside_the_pod_that_still_runs(
    cluster: ServedCluster,
) -> None:
    async def check(kubelets: Kubelets, running_job: RunningJob) -> None:
        kubelets.silent |= {"n1", "n2"}
        old = await running_job.evict()

        async def is_replaced() -> bool:
            return len(await running_job.pods()) == 2

        await until(is_replaced)
        names = {each["metadata"]["name"]: each for each in await running_job.pods()}
        assert names[old["metadata"]["name"]]["status"]["phase"] == "Running"

    with_job(cluster, check, backoffLimit=3)


def test_trap_18_with_a_policy_an_eviction_is_not_counted_and_waits_for_the_kubelet(
    cluster: ServedCluster,
) -> None:
    async def check(kubelets: Kubelets, running_job: RunningJob) -> None:
        kubelets.silent |= {"n1", "n2"}
        old = await running_job.evict()
        assert len(await running_job.pods()) == 1
        kubelets.silent.clear()

        async def is_replaced() -> bool:
            pods = [each["metadata"]["name"] for each in await running_job.pods()]
            return len(pods) == 1 and pods != [old["metadata"]["name"]]

        await until(is_replaced)
        assert not await running_job.conditions() & {"Failed", "FailureTarget"}

    with_job(cluster, check, backoffLimit=0, podFailurePolicy=IGNORE)


def test_a_deletion_fails_a_job_whose_policy_ignores_disruptions(cluster: ServedCluster) -> None:
    async def check(kubelets: Kubelets, running_job: RunningJob) -> None:
        name = (await running_job.pods())[0]["metadata"]["name"]
        await cluster.ask("DELETE", f"{PODS}/{name}")
        await until(lambda: running_job.has("Failed"))

    with_job(cluster, check, backoffLimit=0, podFailurePolicy=IGNORE)


def test_pods_of_a_job_that_is_gone_go_too(cluster: ServedCluster) -> None:
    async def check(_: Kubelets, running_job: RunningJob) -> None:
        await cluster.ask("DELETE", f"{JOBS}/j", {"propagationPolicy": "Background"})

        async def is_empty() -> bool:
            return not await running_job.pods()

        await until(is_empty)

    with_job(cluster, check)
