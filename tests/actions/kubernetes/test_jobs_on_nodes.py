"""The look at all nodes shows the jobs on them, as their pods come and go."""

import asyncio
from collections.abc import Callable

from accelwatch.action.observed import NodeObservation
from accelwatch_kubernetes import KubernetesAction
from accelwatch_kubernetes.workloads.lineage import RETRY, USER
from support.kubernetes.action_on_cluster import NAME, action_on
from support.kubernetes.running_pods import NAMESPACE, kubelets, make_job, pods_of, settled_pods
from support.kubernetes.served import ServedCluster

JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"


async def _until(
    action: KubernetesAction, condition: Callable[[dict[str, NodeObservation]], bool]
) -> dict[str, NodeObservation]:
    """All nodes, once they are so."""
    async with asyncio.timeout(30):
        while True:
            nodes = {node.name: node for node in await action.observe_all()}
            if condition(nodes):
                return nodes
            await asyncio.sleep(0.05)


def test_jobs_are_seen_on_their_nodes(cluster: ServedCluster) -> None:
    async def run() -> None:
        async with kubelets(cluster, "n1"):
            made = await make_job(cluster)
            annotations = {RETRY: "true", USER: "ada"}
            await cluster.ask(
                "PATCH",
                f"{JOBS}/trainer",
                {"metadata": {"annotations": annotations}},
                "merge-patch+json",
            )
            await settled_pods(cluster, 1)
            async with action_on(cluster) as action:
                nodes = {node.name: node for node in await action.observe_all()}
                (job,) = nodes["n1"].jobs
                assert (job.cluster, job.id) == (NAME, f"{NAMESPACE}/Job/trainer")
                assert job.submitted > 0
                assert nodes["n1"].restartable == {job}
                assert nodes["n1"].owners == {str(job): "ada"}
                # A second job comes while the pods are followed.
                await make_job(cluster, "other")
                await settled_pods(cluster, 1, "other")
                nodes = await _until(action, lambda nodes: len(nodes["n1"].jobs) == 2)
                assert {entry.id for entry in nodes["n1"].jobs} == {
                    job.id,
                    f"{NAMESPACE}/Job/other",
                }
                await cluster.ask("DELETE", f"{JOBS}/trainer?propagationPolicy=Background")
                for pod in await pods_of(cluster):
                    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod['metadata']['name']}"
                    await cluster.request("DELETE", f"{path}?gracePeriodSeconds=0")
                nodes = await _until(action, lambda nodes: len(nodes["n1"].jobs) == 1)
                assert nodes["n1"].jobs[0].id == f"{NAMESPACE}/Job/other"
        assert made["metadata"]["name"] == "trainer"

    asyncio.run(run())
