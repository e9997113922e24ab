"""Pods of a controller that has no row in the table, or whose object may not be read."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.intent import IntentKind, JobKey
from accelwatch.action.observed import JobState
from accelwatch.action.step import Refusal, RefusalKind, Step
from accelwatch_kubernetes.workloads.changes import SUSPENDED
from accelwatch_lab.cluster.kubernetes.api_server.faults import Fault
from support.kubernetes.action_on_cluster import action_on, intent, make_node
from support.kubernetes.pods import Object
from support.kubernetes.served import ServedCluster
from support.kubernetes.stand_in import StandInCluster, stand_in_cluster

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedCluster]:
    """Without controllers: the garbage collector would remove pods whose owner it cannot find."""
    with stand_in_cluster(tmp_path_factory.mktemp("stand-in"), ()) as cluster:
        yield cluster


async def _pod(cluster: ServedCluster, version: str, kind: str) -> None:
    """A running pod on n1 whose controller is no object of this cluster's kinds."""
    await make_node(cluster, "n1")
    owner = {"apiVersion": version, "kind": kind, "name": "llm", "uid": "uid-of-llm"}
    metadata = {"name": "llm-0", "ownerReferences": [{**owner, "controller": True}]}
    containers = [{"name": "main", "image": "registry.k8s.io/pause:3.10"}]
    spec = {"nodeName": "n1", "containers": containers}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    await cluster.ask("POST", PODS, body)
    await cluster.ask(
        "PATCH", f"{PODS}/llm-0/status", {"status": {"phase": "Running"}}, "merge-patch+json"
    )


@pytest.mark.parametrize(
    ("version", "kind"), [("ray.io/v1", "RayCluster"), ("jobset.x-k8s.io/v1alpha2", "JobSet")]
)
def test_the_job_is_seen_by_its_pods_and_not_taken_for_gone(
    served: ServedCluster, version: str, kind: str
) -> None:
    async def run() -> None:
        await _pod(served, version, kind)
        async with action_on(served) as action:
            key = JobKey("cluster", f"default/{kind}/llm", 0.0)
            observed = await action.observe(intent(IntentKind.FOLLOW_JOB, job=key))
        assert observed.job is not None
        assert (observed.job.state, observed.job.nodes) == (JobState.RUNNING, ("n1",))

    asyncio.run(run())


def test_a_job_that_is_followed_has_its_newest_checkpoint(
    served: ServedCluster, tmp_path: Path
) -> None:
    async def run() -> None:
        await _pod(served, "ray.io/v1", "RayCluster")
        (tmp_path / "default" / "llm" / "step-40").mkdir(parents=True)
        pattern: Object = {"pattern": f"{tmp_path}/{{namespace}}/{{job}}/step-{{step}}"}
        async with action_on(served, checkpoints=pattern) as action:
            key = JobKey("cluster", "default/RayCluster/llm", 0.0)
            observed = await action.observe(intent(IntentKind.FOLLOW_JOB, job=key))
        assert observed.job is not None
        assert observed.job.step == 40
        assert observed.job.checkpoint.endswith("/step-40")

    asyncio.run(run())


def test_a_later_job_of_the_name_is_not_suspended_for_the_pods_of_an_earlier_one(
    served: ServedCluster,
) -> None:
    async def run() -> None:
        await _pod(served, "batch/v1", "Job")
        template = {"spec": {"containers": [{"name": "main", "image": "x"}]}}
        body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "llm"}}
        jobs = "/apis/batch/v1/namespaces/default/jobs"
        await served.ask("POST", jobs, {**body, "spec": {"template": template}})
        async with action_on(served) as action:
            wanted = intent(IntentKind.CANCEL_JOB, job=JobKey("cluster", "default/Job/llm", 0.0))
            proposal = action.propose(wanted, await action.observe(wanted))
        assert isinstance(proposal, Refusal)
        assert proposal.kind is RefusalKind.IMPOSSIBLE

    asyncio.run(run())


def test_a_job_without_pods_that_may_not_be_read_is_not_taken_for_gone(tmp_path: Path) -> None:
    """It may be one that we have suspended: taken for gone, it would never start again."""
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    note = '{"incident": "inc-1", "token": 3, "by": "accelwatch"}'

    async def run(cluster: StandInCluster) -> None:
        await make_node(cluster, "n1")
        template = {"spec": {"containers": [{"name": "main", "image": "x"}]}}
        metadata = {"name": "llm", "annotations": {SUSPENDED: note}}
        spec = {"suspend": True, "template": template}
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
        await cluster.ask("POST", jobs, job)
        wanted = intent(
            IntentKind.RESTORE_JOB, job=JobKey("cluster", "default/Job/llm", 0.0), incident="inc-1"
        )
        async with action_on(cluster) as action:
            assert isinstance(action.propose(wanted, await action.observe(wanted)), Step)
            cluster.server.faults.add(Fault(method="GET", path="/jobs/llm", status=403, times=None))
            with pytest.raises(ActionUnavailableError):
                await action.observe(wanted)

    with stand_in_cluster(tmp_path, ()) as cluster:
        asyncio.run(run(cluster))
