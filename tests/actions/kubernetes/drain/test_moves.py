"""Jobs that leave a node of a cluster: what the server refuses, what people do, what a crash leaves."""

import asyncio
from typing import Any

import msgspec

from accelwatch.action.intent import Intent, IntentKind, JobKey
from accelwatch.action.step import ReportStatus, Step, Wait
from accelwatch.remediation.execution.operations.ledger import rehearsal
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch_kubernetes.objects.metadata import unix_seconds
from support.kubernetes.action_on_cluster import NAME, Pursuits, action_on, intent
from support.kubernetes.running_pods import (
    kubelets,
    make_budget,
    make_job,
    pods_of,
    settled_pods,
)
from support.kubernetes.served import ServedCluster

IGNORES = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}


def move(job: dict[str, Any], **more: Any) -> Intent:
    metadata = job["metadata"]
    submitted = unix_seconds(metadata["creationTimestamp"]) or 0.0
    key = JobKey(NAME, f"{metadata['namespace']}/Job/{metadata['name']}", submitted)
    return intent(IntentKind.MOVE_JOB, job=key, bad_nodes=("n1",), **more)


def test_a_job_leaves_its_bad_node_and_runs_elsewhere(cluster: ServedCluster) -> None:
    async def run() -> None:
        async with kubelets(cluster, "n1", "n2"), action_on(cluster) as action:
            job = await make_job(cluster, podFailurePolicy=IGNORES)
            before = await settled_pods(cluster, 1)
            assert {pod["spec"]["nodeName"] for pod in before} == {"n1"}
            pursuits = Pursuits(action)
            held = await pursuits.pursue(intent(IntentKind.QUARANTINE))
            assert held.result is PursuitResult.ACHIEVED
            wanted = move(job)
            moved = await pursuits.pursue(wanted)
            assert (moved.result, moved.moved_to) == (PursuitResult.ACHIEVED, ("n2",)), moved.text
            assert pursuits.done(wanted) == ["evict"]
            after = await settled_pods(cluster, 1)
            uids = {pod["metadata"]["uid"] for pod in before}
            assert uids.isdisjoint({pod["metadata"]["uid"] for pod in after})
            assert set(moved.original) == {f"evicted {uid}" for uid in uids}

    asyncio.run(run())


def test_trap_11_two_budgets_on_a_pod_are_named_and_nothing_is_sent(cluster: ServedCluster) -> None:
    async def run() -> None:
        async with kubelets(cluster, "n1", "n2"), action_on(cluster) as action:
            job = await make_job(cluster, podFailurePolicy=IGNORES)
            (before,) = await settled_pods(cluster, 1)
            await make_budget(cluster, "one", "trainer", maxUnavailable=1)
            await make_budget(cluster, "two", "trainer", maxUnavailable=1)
            pursuits = Pursuits(action)
            await pursuits.pursue(intent(IntentKind.QUARANTINE))
            wanted = move(job)
            ended = await pursuits.pursue(wanted)
            assert ended.result is PursuitResult.REFUSED
            assert "PDBs default/one and default/two both cover it" in ended.text
            assert list(pursuits.ledger.of(NAME, wanted)) == []
            (after,) = await pods_of(cluster)
            assert after["metadata"]["uid"] == before["metadata"]["uid"]
            assert "deletionTimestamp" not in after["metadata"]

    asyncio.run(run())


def test_trap_11_a_budget_that_never_allows_is_reported_and_one_that_will_is_waited_for(
    cluster: ServedCluster,
) -> None:
    async def run() -> None:
        async with kubelets(cluster, "n1", "n2"), action_on(cluster) as action:
            job = await make_job(cluster, pods=2, podFailurePolicy=IGNORES)
            await settled_pods(cluster, 2)
            await make_budget(cluster, "trainers", "trainer", minAvailable=2)
            await counted(cluster, "trainers")
            pursuits = Pursuits(action)
            await pursuits.pursue(intent(IntentKind.QUARANTINE))
            wanted = move(job)
            ended = await pursuits.pursue(wanted)
            assert ended.result is PursuitResult.REFUSED
            assert "PDB default/trainers allows no eviction now: it needs 2 healthy" in ended.text
            assert list(pursuits.ledger.of(NAME, wanted)) == []
            budget = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/trainers"
            change = {"spec": {"minAvailable": 1}}
            await cluster.ask("PATCH", budget, change, "merge-patch+json")
            await counted(cluster, "trainers")
            # One leaves, and the other only once its replacement is ready.
            again = move(job)
            moved = await pursuits.pursue(again)
            assert (moved.result, moved.moved_to) == (PursuitResult.ACHIEVED, ("n2",)), moved.text
            assert pursuits.done(again) == ["evict", "evict"]

    asyncio.run(run())


def test_trap_11_a_budget_that_cannot_be_counted_is_named_with_the_reason(
    cluster: ServedCluster,
) -> None:
    """A Job has no scale, so no share of it can be unavailable: nothing is ever allowed."""

    async def run() -> None:
        async with kubelets(cluster, "n1", "n2"), action_on(cluster) as action:
            job = await make_job(cluster, podFailurePolicy=IGNORES)
            await settled_pods(cluster, 1)
            await make_budget(cluster, "trainers", "trainer", maxUnavailable=1)
            path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/trainers"
            async with asyncio.timeout(30):
                while "conditions" not in (await cluster.ask("GET", path)).get("status", {}):
                    await asyncio.sleep(0.05)
            pursuits = Pursuits(action)
            await pursuits.pursue(intent(IntentKind.QUARANTINE))
            ended = await pursuits.pursue(move(job))
            assert ended.result is PursuitResult.REFUSED
            assert "PDB default/trainers cannot be counted" in ended.text
            assert "does not implement the scale subresource" in ended.text

    asyncio.run(run())


async def counted(cluster: ServedCluster, name: str) -> None:
    """Wait until the disruption controller has counted a budget as it is now."""
    path = f"/apis/policy/v1/namespaces/default/poddisruptionbudgets/{name}"
    async with asyncio.timeout(30):
        while True:
            budget = await cluster.ask("GET", path)
            status = budget.get("status", {})
            if (
                status.get("observedGeneration") == budget["metadata"]["generation"]
                and status.get("expectedPods") == 2
            ):
                return
            await asyncio.sleep(0.05)


def test_trap_13_a_namesake_that_was_made_since_is_not_evicted(cluster: ServedCluster) -> None:
    async def run() -> None:
        async with kubelets(cluster, "n1", "n2"), action_on(cluster) as action:
            job = await make_job(cluster, podFailurePolicy=IGNORES)
            (pod,) = await settled_pods(cluster, 1)
            pursuits = Pursuits(action)
            await pursuits.pursue(intent(IntentKind.QUARANTINE))
            wanted = move(job)
            step = action.propose(wanted, await action.observe(wanted))
            assert not isinstance(step, Wait)
            path = f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}"
            # The Job's controller would keep it until it has counted it.
            free = {"metadata": {"finalizers": None}}
            await cluster.ask("PATCH", path, free, "merge-patch+json")
            await cluster.request("DELETE", f"{path}?gracePeriodSeconds=0")
            namesake = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": pod["metadata"]["name"], "namespace": "default"},
                "spec": {"nodeName": "n2", "containers": [{"name": "main", "image": "none"}]},
            }
            await cluster.ask("POST", "/api/v1/namespaces/default/pods", namesake)
            operation = msgspec.structs.replace(rehearsal(wanted), dry_run=False)
            report = await action.perform(step, operation)  # type: ignore[arg-type]
            assert "is another pod by now" in report.text
            there = await cluster.ask("GET", path)
            assert "deletionTimestamp" not in there["metadata"]

    asyncio.run(run())


def test_trap_18_a_job_that_an_eviction_would_fail_is_suspended_and_runs_on(
    cluster: ServedCluster,
) -> None:
    async def run() -> None:
        async with kubelets(cluster, "n1", "n2"), action_on(cluster) as action:
            job = await make_job(cluster, backoffLimit=0)
            await settled_pods(cluster, 1)
            pursuits = Pursuits(action)
            await pursuits.pursue(intent(IntentKind.QUARANTINE))
            wanted = move(job)
            moved = await pursuits.pursue(wanted)
            assert (moved.result, moved.moved_to) == (PursuitResult.ACHIEVED, ("n2",)), moved.text
            assert pursuits.done(wanted) == ["suspend", "start_again"]
            shown = await cluster.ask("GET", "/apis/batch/v1/namespaces/default/jobs/trainer")
            assert shown["status"].get("failed", 0) == 0
            assert "accelwatch.io/suspended" not in shown["metadata"].get("annotations", {})

    asyncio.run(run())


def test_trap_15_the_usual_taint_evicts_nothing_by_itself(cluster: ServedCluster) -> None:
    async def run() -> None:
        async with kubelets(cluster, "n1", "n2"), action_on(cluster) as action:
            await make_job(cluster, podFailurePolicy=IGNORES)
            (before,) = await settled_pods(cluster, 1)
            await make_budget(cluster, "trainers", "trainer", maxUnavailable=0)
            await Pursuits(action).pursue(intent(IntentKind.QUARANTINE))
            (after,) = await pods_of(cluster)
            assert after["metadata"]["uid"] == before["metadata"]["uid"]
            assert "deletionTimestamp" not in after["metadata"]
        async with action_on(cluster, no_execute=True, hub="second") as strict:
            ended = await Pursuits(strict).pursue(intent(IntentKind.QUARANTINE, "n2"))
            assert ended.result is PursuitResult.ACHIEVED
            n2 = await cluster.ask("GET", "/api/v1/nodes/n2")
            effects = {taint["key"]: taint["effect"] for taint in n2["spec"]["taints"]}
            assert effects["accelwatch.io/quarantine"] == "NoExecute"

    asyncio.run(run())


def test_a_node_object_that_is_deleted_in_the_drain_does_not_lock_it(
    cluster: ServedCluster,
) -> None:
    async def run() -> None:
        async with kubelets(cluster, "n1", "n2") as running, action_on(cluster) as action:
            job = await make_job(cluster, podFailurePolicy=IGNORES)
            await settled_pods(cluster, 1)
            pursuits = Pursuits(action)
            await pursuits.pursue(intent(IntentKind.QUARANTINE))
            running.keeps = True
            moving = asyncio.create_task(pursuits.pursue(move(job)))
            async with asyncio.timeout(20):
                while "deletionTimestamp" not in (await pods_of(cluster))[0]["metadata"]:
                    await asyncio.sleep(0.05)
            await cluster.ask("DELETE", "/api/v1/nodes/n1")
            running.keeps = False
            moved = await moving
            assert (moved.result, moved.moved_to) == (PursuitResult.ACHIEVED, ("n2",)), moved.text

    asyncio.run(run())


def test_trap_12_whoever_takes_the_pods_name_costs_the_budget_nothing(
    cluster: ServedCluster,
) -> None:
    """A request with a wrong uid would be refused and would spend it: so none is sent."""
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/trainers"

    async def run() -> None:
        async with kubelets(cluster, "n1", "n2"), action_on(cluster) as action:
            job = await make_job(cluster, pods=2, podFailurePolicy=IGNORES)
            before = await settled_pods(cluster, 2)
            await make_budget(cluster, "trainers", "trainer", minAvailable=1)
            await counted(cluster, "trainers")
            await Pursuits(action).pursue(intent(IntentKind.QUARANTINE))
            wanted = move(job)
            step = action.propose(wanted, await action.observe(wanted))
            assert isinstance(step, Step)
            stale = msgspec.structs.replace(step, precondition={"uid": "of-an-earlier-pod"})
            operation = msgspec.structs.replace(rehearsal(wanted), dry_run=False)
            for _ in range(3):
                report = await action.perform(stale, operation)
                assert report.status is ReportStatus.RETRY
                assert "is another pod by now" in report.text
            status = (await cluster.ask("GET", path))["status"]
            assert status["disruptionsAllowed"] == 1
            assert not status.get("disruptedPods")
            # What a wrong uid would have cost.
            name = before[0]["metadata"]["name"]
            eviction = {
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": {"name": name, "namespace": "default"},
                "deleteOptions": {"preconditions": {"uid": "of-an-earlier-pod"}},
            }
            pod = f"/api/v1/namespaces/default/pods/{name}"
            refused, _ = await cluster.request("POST", f"{pod}/eviction", eviction)
            assert refused == 409
            spent = (await cluster.ask("GET", path))["status"]
            assert spent["disruptionsAllowed"] == 0

    asyncio.run(run())
