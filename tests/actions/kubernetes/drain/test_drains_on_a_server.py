"""Fences, cancelled jobs, deletions, and what happens in the middle of a drain, on a cluster."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.action.intent import Intent, IntentKind, JobKey
from accelwatch.action.step import Achieved, RefusalKind, Wait
from accelwatch.base.clock import ManualClock
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult
from accelwatch_kubernetes.marks.hold import HOLD
from accelwatch_kubernetes.objects.metadata import unix_seconds
from accelwatch_kubernetes.proposals.fencing import ANSWERS_S
from support.kubernetes.action_on_cluster import (
    NAME,
    Pursuits,
    action_on,
    change_node,
    intent,
    node_of,
)
from support.kubernetes.running_pods import (
    answer,
    kubelets,
    make_budget,
    make_job,
    pods_of,
    settled_pods,
)
from support.kubernetes.served import ServedCluster

IGNORES = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
OUT = "node.kubernetes.io/out-of-service"
# Longer than a copy of the cluster counts that is not kept, so the cluster is unavailable for a while.
AWAY_S = 20.0
_PATIENCE_S = 150.0


def of_job(kind: IntentKind, job: dict[str, Any], **more: Any) -> Intent:
    metadata = job["metadata"]
    submitted = unix_seconds(metadata["creationTimestamp"]) or 0.0
    key = JobKey(NAME, f"{metadata['namespace']}/Job/{metadata['name']}", submitted)
    return intent(kind, job=key, bad_nodes=("n1",), **more)


def switch(folder: Path) -> dict[str, Any]:
    """A power switch whose nodes are off while there is a file of their name."""
    shell = ["/bin/sh", "-c"]
    return {
        "power_off": [*shell, f"touch {folder}/{{node}}"],
        "power_state": [*shell, f"test -e {folder}/{{node}}"],
    }


def patient(wanted: Intent) -> Intent:
    """The controllers of a cluster take their time: the pod collector looks every 20 s."""
    return msgspec.structs.replace(wanted, deadline=wanted.deadline + _PATIENCE_S)


async def patiently(pursuits: Pursuits, wanted: Intent) -> Pursued:
    return await pursuits.pursue(wanted, within_s=_PATIENCE_S)


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await is_so():
            await asyncio.sleep(0.05)


async def is_ending(cluster: ServedCluster) -> bool:
    """Whether a pod of the job was told to end."""
    return any("deletionTimestamp" in pod["metadata"] for pod in await pods_of(cluster))


def test_a_silent_node_is_powered_off_and_the_cluster_replaces_its_pods(
    cluster: ServedCluster, tmp_path: Path
) -> None:
    async def run() -> None:
        options = switch(tmp_path)
        async with (
            kubelets(cluster, "n1", "n2") as running,
            action_on(cluster, **options) as action,
        ):
            await make_job(cluster, podFailurePolicy=IGNORES)
            (before,) = await settled_pods(cluster, 1)
            pursuits = Pursuits(action)
            await pursuits.pursue(intent(IntentKind.QUARANTINE))
            await running.silence("n1")
            wanted = patient(intent(IntentKind.FENCE))
            fenced = await patiently(pursuits, wanted)
            assert fenced.result is PursuitResult.ACHIEVED, fenced.text
            steps = [step.step.kind for step in pursuits.ledger.of(NAME, wanted)]
            assert sorted(set(steps)) == ["in_service", "out_of_service", "power_off"]
            document = await node_of(cluster)
            assert OUT not in [taint["key"] for taint in document["spec"]["taints"]]
            assert "out_of_service" not in document["metadata"]["annotations"][HOLD]
            (after,) = await settled_pods(cluster, 1)
            assert after["spec"]["nodeName"] == "n2"
            assert after["metadata"]["uid"] != before["metadata"]["uid"]

    asyncio.run(run())


def test_a_kubelet_that_answers_again_is_a_proof_after_a_minute_or_a_boot(
    cluster: ServedCluster,
) -> None:
    clock = ManualClock()

    async def run() -> None:
        async with kubelets(cluster, "n1"), action_on(cluster, clock=clock) as action:
            await answer(cluster, "n1")
            await make_job(cluster)
            await settled_pods(cluster, 1)
            wanted = intent(IntentKind.FENCE, boot_id="boot-1")
            waits = action.propose(wanted, await action.observe(wanted))
            assert isinstance(waits, Wait)
            assert "answers again, for 0 of 60 s" in waits.text
            clock.advance(ANSWERS_S)
            done = action.propose(wanted, await action.observe(wanted))
            assert isinstance(done, Achieved)
            booted = intent(IntentKind.FENCE, "n1", boot_id="boot-0")
            fresh = await action.observe(booted)
            done = action.propose(booted, fresh)
            assert isinstance(done, Achieved)
            assert "has booted since" in done.text

    asyncio.run(run())


def test_a_job_is_cancelled_and_starts_again_when_it_is_restored(cluster: ServedCluster) -> None:
    async def run() -> None:
        async with kubelets(cluster, "n1", "n2"), action_on(cluster) as action:
            job = await make_job(cluster)
            (before,) = await settled_pods(cluster, 1)
            pursuits = Pursuits(action)
            await pursuits.pursue(intent(IntentKind.QUARANTINE))
            cancel = of_job(IntentKind.CANCEL_JOB, job)
            ended = await pursuits.pursue(cancel)
            assert ended.result is PursuitResult.ACHIEVED, ended.text
            assert pursuits.done(cancel) == ["suspend"]
            path = f"/apis/batch/v1/namespaces/default/jobs/{job['metadata']['name']}"
            shown = await cluster.ask("GET", path)
            assert shown["spec"]["suspend"] is True
            assert shown["status"].get("failed", 0) == 0
            restore = of_job(IntentKind.RESTORE_JOB, job)
            restored = await pursuits.pursue(restore)
            assert restored.result is PursuitResult.ACHIEVED, restored.text
            assert pursuits.done(restore) == ["start_again"]
            (after,) = await settled_pods(cluster, 1)
            assert after["metadata"]["uid"] != before["metadata"]["uid"]

    asyncio.run(run())


def test_after_its_deadline_a_pod_is_deleted_from_a_node_without_power_only(
    cluster: ServedCluster, tmp_path: Path
) -> None:
    """Its budget never lets it go."""
    rules = [{"leave": "delete_after", "after_s": 0.1}]

    async def run() -> None:
        options = {"drain": rules, **switch(tmp_path)}
        async with (
            kubelets(cluster, "n1", "n2") as running,
            action_on(cluster, **options) as action,
        ):
            job = await make_job(cluster)
            await settled_pods(cluster, 1)
            await make_budget(cluster, "trainers", "trainer", minAvailable=1)
            await counted(cluster)
            pursuits = Pursuits(action)
            await pursuits.pursue(intent(IntentKind.QUARANTINE))
            wanted = of_job(IntentKind.MOVE_JOB, job)
            with_power = await pursuits.pursue(wanted)
            assert with_power.result is PursuitResult.REFUSED
            assert not await is_ending(cluster)
            await running.silence("n1")
            (tmp_path / "n1").touch()
            again = patient(of_job(IntentKind.MOVE_JOB, job))
            moving = asyncio.create_task(patiently(pursuits, again))
            await until(lambda: is_ending(cluster))
            # Powered on again its kubelet ends what was deleted meanwhile.
            (tmp_path / "n1").unlink()
            await answer(cluster, "n1")
            running.silent.discard("n1")
            moved = await moving
            assert (moved.result, moved.moved_to) == (PursuitResult.ACHIEVED, ("n2",)), moved.text
            assert pursuits.done(again) == ["delete_pod"]

    asyncio.run(run())


async def counted(cluster: ServedCluster) -> None:
    """Wait until the disruption controller has counted the budget."""
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/trainers"

    async def is_counted() -> bool:
        status = (await cluster.ask("GET", path)).get("status", {})
        return bool(status.get("expectedPods") == 1 and status.get("currentHealthy") == 1)

    await until(is_counted)


def test_a_server_that_is_away_in_the_middle_of_a_drain_is_waited_for(
    cluster: ServedCluster,
) -> None:
    async def run() -> None:
        async with kubelets(cluster, "n1", "n2") as running, action_on(cluster) as action:
            job = await make_job(cluster, pods=2, podFailurePolicy=IGNORES)
            before = {pod["metadata"]["uid"] for pod in await settled_pods(cluster, 2)}
            pursuits = Pursuits(action)
            await pursuits.pursue(intent(IntentKind.QUARANTINE))
            running.keeps = True
            wanted = patient(of_job(IntentKind.MOVE_JOB, job))
            moving = asyncio.create_task(patiently(pursuits, wanted))
            await until(lambda: is_ending(cluster))
            await asyncio.to_thread(cluster.kill_api_server)
            await asyncio.sleep(AWAY_S)
            assert not moving.done()
            await asyncio.to_thread(cluster.start_api_server)
            running.keeps = False
            moved = await moving
            assert (moved.result, moved.moved_to) == (PursuitResult.ACHIEVED, ("n2",)), moved.text
            assert pursuits.done(wanted) == ["evict", "evict"]
            after = {pod["metadata"]["uid"] for pod in await settled_pods(cluster, 2)}
            assert before.isdisjoint(after)

    asyncio.run(run())


@pytest.mark.parametrize("what", ["taint", "taint and annotation"])
def test_trap_03_who_frees_the_node_in_the_middle_of_a_drain_keeps_the_pods(
    cluster: ServedCluster, what: str
) -> None:
    async def run() -> None:
        async with kubelets(cluster, "n1", "n2"), action_on(cluster) as action:
            job = await make_job(cluster, pods=2, podFailurePolicy=IGNORES)
            await settled_pods(cluster, 2)
            # A second pod may go only once the first one's replacement runs.
            await make_budget(cluster, "trainers", "trainer", minAvailable=2)
            pursuits = Pursuits(action)
            await pursuits.pursue(intent(IntentKind.QUARANTINE))
            patch: dict[str, Any] = {"spec": {"taints": None}}
            if "annotation" in what:
                patch["metadata"] = {"annotations": {HOLD: None}}
            await change_node(cluster, "n1", patch)
            ended = await pursuits.pursue(of_job(IntentKind.MOVE_JOB, job))
            assert ended.refusal is RefusalKind.OVERRIDDEN, ended.text
            assert "what runs there is left alone" in ended.text
            assert not await is_ending(cluster)

    asyncio.run(run())
