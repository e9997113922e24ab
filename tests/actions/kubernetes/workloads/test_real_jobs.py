"""What is foretold of plain Jobs is what the real Job controller does."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from accelwatch.action.intent import JobKey, OwnerAnnotation
from accelwatch.action.observed import JobObservation, JobState
from accelwatch_kubernetes.objects.pod import Pod
from accelwatch_kubernetes.workloads.changes import (
    Change,
    restart_patch,
    suspend_patch,
    suspended_by,
)
from accelwatch_kubernetes.workloads.consequences import consequences
from accelwatch_kubernetes.workloads.kinds.outcome import Cause, Departure, Fate
from accelwatch_kubernetes.workloads.lineage import Lineage, lineage_of, lineage_text
from accelwatch_kubernetes.workloads.observed_job import observed_job
from support.kubernetes.action_on_cluster import make_node
from support.kubernetes.pods import Object
from support.kubernetes.served import ServedCluster
from support.kubernetes.workloads import IGNORES

JOBS, PODS = "/apis/batch/v1/namespaces/default/jobs", "/api/v1/namespaces/default/pods"
OURS = OwnerAnnotation("inc-1", 3)
MERGE = "merge-patch+json"
# The controllers share a busy machine with other tests.
_PATIENCE_S = 60.0


class RunningJob:
    """A Job of two pods on n1 and n2, whose kubelets are the test."""

    def __init__(self, cluster: ServedCluster) -> None:
        self.cluster = cluster
        self.key = JobKey("k", "default/Job/trainer", 0.0)

    async def create(self, **spec: Any) -> None:
        container = {"name": "main", "image": "registry.k8s.io/pause:3.10"}
        template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
        body = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "trainer"},
            "spec": {
                "parallelism": 2,
                "completions": 2,
                "completionMode": "Indexed",
                "template": template,
                **spec,
            },
        }
        await self.cluster.ask("POST", JOBS, body)
        for name in ("n1", "n2"):
            await make_node(self.cluster, name)
        await self.until(lambda _, pods: len(pods) == 2)
        await self.start_pods()

    async def start_pods(self) -> None:
        """A scheduler binds them, and kubelets run them."""
        for node, pod in zip(("n1", "n2"), await self._pods(), strict=False):
            if pod.node or pod.is_terminating:
                continue
            path, name = f"{PODS}/{pod.metadata.name}", pod.metadata.name
            target = {"apiVersion": "v1", "kind": "Node", "name": node}
            binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}}
            await self.cluster.ask("POST", f"{path}/binding", {**binding, "target": target})
            status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
            await self.cluster.ask("PATCH", f"{path}/status", {"status": status}, MERGE)

    async def end_pods(self) -> None:
        """Kubelets end what is being deleted."""
        for pod in await self._pods():
            if pod.is_terminating:
                path = f"{PODS}/{pod.metadata.name}?gracePeriodSeconds=0"
                await self.cluster.request("DELETE", path)

    async def _pods(self) -> tuple[Pod, ...]:
        return msgspec.convert((await self.cluster.ask("GET", PODS))["items"], tuple[Pod, ...])

    async def look(self) -> tuple[Lineage, tuple[Pod, ...]]:
        document = await self.cluster.ask("GET", f"{JOBS}/trainer")
        return lineage_of(lineage_text([json.dumps(document).encode()])), await self._pods()

    async def observed(self) -> JobObservation:
        return observed_job(self.key, *await self.look())

    async def until(
        self, holds: Callable[[Lineage, tuple[Pod, ...]], bool], within_s: float = _PATIENCE_S
    ) -> None:
        async with asyncio.timeout(within_s):
            while not holds(*await self.look()):
                await asyncio.sleep(0.1)

    async def until_state(self, state: JobState) -> JobObservation:
        async with asyncio.timeout(_PATIENCE_S):
            while (observed := await self.observed()).state is not state:
                await asyncio.sleep(0.1)
        return observed

    async def foretold(self, cause: Cause) -> tuple[Fate, Pod]:
        lineage, pods = await self.look()
        first = next(pod for pod in pods if not pod.is_terminating)
        departure = Departure(cause=cause, pods=(first,))
        return consequences(lineage, departure, pods).fate, first

    async def remove(self, pod: Pod, cause: Cause) -> None:
        name = pod.metadata.name
        if cause is Cause.DELETION:
            await self.cluster.ask("DELETE", f"{PODS}/{name}")
            return
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        await self.cluster.ask("POST", f"{PODS}/{name}/eviction", eviction)

    async def fail_pod(self, pod: Pod) -> None:
        """Its kubelet says how its container has ended."""
        ended = {"terminated": {"exitCode": 143, "reason": "Error"}}
        status = {"phase": "Failed", "containerStatuses": [_container(ended)]}
        path = f"{PODS}/{pod.metadata.name}/status"
        await self.cluster.ask("PATCH", path, {"status": status}, MERGE)

    async def write(self, change_of: Callable[[Lineage, tuple[Pod, ...]], Change | None]) -> None:
        """Change the job as it is now; its controller may have written to it since the look."""
        async with asyncio.timeout(_PATIENCE_S):
            while True:
                change = change_of(*await self.look())
                assert change is not None
                status, document = await self.cluster.request(
                    "PATCH", change.path, json.loads(change.body), kind=MERGE
                )
                if status != 409:
                    assert status < 300, document
                    return


def _container(state: Object) -> Object:
    image = {"image": "registry.k8s.io/pause:3.10", "imageID": ""}
    return {"name": "main", "ready": False, "restartCount": 0, "state": state, **image}


def _run(cluster: ServedCluster, play: Callable[[RunningJob], Awaitable[None]]) -> None:
    async def main() -> None:
        await play(RunningJob(cluster))

    asyncio.run(main())


@pytest.mark.parametrize(
    ("spec", "cause", "fate"),
    [
        ({"backoffLimit": 0}, Cause.EVICTION, Fate.FAILED),
        ({"backoffLimit": 3}, Cause.EVICTION, Fate.REPLACED),
        ({"backoffLimit": 0, "podFailurePolicy": IGNORES}, Cause.EVICTION, Fate.REPLACED),
        ({"backoffLimit": 0, "podFailurePolicy": IGNORES}, Cause.DELETION, Fate.FAILED),
        ({"backoffLimitPerIndex": 0}, Cause.EVICTION, Fate.FAILED),
    ],
)
def test_trap_18_what_is_foretold_of_a_job_comes_true(
    cluster: ServedCluster, spec: dict[str, Any], cause: Cause, fate: Fate
) -> None:
    async def play(job: RunningJob) -> None:
        await job.create(**spec)
        foretold, pod = await job.foretold(cause)
        assert foretold is fate
        await job.remove(pod, cause)
        await job.fail_pod(pod)
        await job.end_pods()
        if fate is Fate.FAILED and "backoffLimitPerIndex" in spec:
            await job.until(lambda lineage, _: bool(_status(lineage).get("failedIndexes")))
        elif fate is Fate.FAILED:
            await job.until(lambda lineage, _: _has_failed(lineage))
        else:
            await job.until(lambda _, pods: sum(not one.is_terminating for one in pods) == 2)
            assert not _has_failed((await job.look())[0])

    _run(cluster, play)


def _status(lineage: Lineage) -> Object:
    assert lineage.job is not None
    return lineage.job.status or {}


def _has_failed(lineage: Lineage) -> bool:
    return (
        lineage.job is not None
        and lineage.kind is not None
        and lineage.kind.has_failed(lineage.job)
    )


def test_trap_18_a_job_is_suspended_without_a_failure_and_starts_when_its_old_pods_are_gone(
    cluster: ServedCluster,
) -> None:
    async def play(job: RunningJob) -> None:
        await job.create(backoffLimit=0)
        assert (await job.until_state(JobState.RUNNING)).nodes == ("n1", "n2")
        await job.write(lambda lineage, _: suspend_patch(lineage, OURS))
        await job.until(lambda _, pods: all(pod.is_terminating for pod in pods))
        assert (await job.observed()).state is JobState.COMPLETING
        lineage, pods = await job.look()
        assert suspended_by(lineage) == OURS
        assert restart_patch(lineage, pods) is None
        await job.end_pods()
        held = await job.until_state(JobState.HELD)
        assert (held.restarts, held.text) == (0, "JobSuspended: Job suspended")
        await job.write(restart_patch)
        await job.until(lambda _, pods: len(pods) == 2)
        await job.start_pods()
        running = await job.until_state(JobState.RUNNING)
        assert (running.restarts, running.failed) == (0, False)
        assert suspended_by((await job.look())[0]) is None

    _run(cluster, play)


def test_a_suspension_of_a_job_that_was_changed_meanwhile_is_refused(
    cluster: ServedCluster,
) -> None:
    async def play(job: RunningJob) -> None:
        await job.create()
        patch = suspend_patch((await job.look())[0], OURS)
        assert patch is not None
        note = {"metadata": {"annotations": {"example.com/by": "somebody"}}}
        await cluster.ask("PATCH", f"{JOBS}/trainer", note, MERGE)
        status, document = await cluster.request(
            "PATCH", patch.path, json.loads(patch.body), kind=MERGE
        )
        assert (status, document["reason"]) == (409, "Conflict")

    _run(cluster, play)
