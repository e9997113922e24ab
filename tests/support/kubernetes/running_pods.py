"""Jobs on a cluster without kubelets: what binds, starts and ends their pods in a test."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import aiohttp

from support.kubernetes.action_on_cluster import make_node
from support.kubernetes.served import ServedCluster

Object = dict[str, Any]
NAMESPACE = "default"
_POLL_S = 0.05
# The node lifecycle controller gives a node up that has said nothing for 50 s.
_HEARTBEAT_S = 5.0


class Kubelets:
    """Binds pods to nodes that take work, starts them, and ends them when they are told to.

    Those of `silent` nodes do nothing.
    """

    def __init__(self, cluster: ServedCluster, nodes: Sequence[str]) -> None:
        self._cluster = cluster
        self._nodes = nodes
        self.silent: set[str] = set()
        # While set, pods that are told to end go on.
        self.keeps = False
        self._stops = False
        # Whoever silences a node waits for the heartbeat that is on its way: it would come after.
        self._beating = asyncio.Lock()

    async def silence(self, name: str) -> None:
        """Have a node's kubelet answer no more, and do nothing."""
        async with self._beating:
            self.silent.add(name)
        await answer(self._cluster, name, "Unknown")

    def stop(self) -> None:
        """Have `run` end. Cancelled in the middle of a request, it would leave its connection behind."""
        self._stops = True

    async def run(self) -> None:
        """Until it is stopped."""
        beats = 0.0
        while not self._stops:
            # A server that is away for a moment is asked again.
            with contextlib.suppress(AssertionError, OSError, aiohttp.ClientError):
                if time.monotonic() - beats > _HEARTBEAT_S:
                    beats = time.monotonic()
                    async with self._beating:
                        for name in set(self._nodes) - self.silent:
                            await heartbeat(self._cluster, name)
                pods = await self._cluster.ask("GET", f"/api/v1/namespaces/{NAMESPACE}/pods")
                for pod in pods["items"]:
                    await self._turn(pod)
            await asyncio.sleep(_POLL_S)

    async def _turn(self, pod: Object) -> None:
        metadata, node = pod["metadata"], pod["spec"].get("nodeName", "")
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{metadata['name']}"
        if node in self.silent:
            return
        if metadata.get("deletionTimestamp"):
            if not self.keeps:
                # As a kubelet does: its containers have ended with SIGTERM, then the pod may go.
                if pod["status"].get("phase") not in ("Failed", "Succeeded"):
                    await self._set_status(path, {"phase": "Failed"})
                await self._cluster.request("DELETE", f"{path}?gracePeriodSeconds=0")
            return
        if not node:
            target = await self._open_node()
            if target:
                body = {"target": {"kind": "Node", "name": target}, "metadata": metadata}
                body |= {"apiVersion": "v1", "kind": "Binding"}
                await self._cluster.request("POST", f"{path}/binding", body)
        elif pod["status"].get("phase") == "Pending":
            ready = {"type": "Ready", "status": "True"}
            await self._set_status(path, {"phase": "Running", "conditions": [ready]})

    async def _set_status(self, path: str, status: Object) -> None:
        await self._cluster.request(
            "PATCH", f"{path}/status", {"status": status}, kind="merge-patch+json"
        )

    async def _open_node(self) -> str:
        for name in self._nodes:
            status, node = await self._cluster.request("GET", f"/api/v1/nodes/{name}")
            spec = node.get("spec", {})
            if status == 200 and not spec.get("taints") and not spec.get("unschedulable"):
                return name
        return ""


@asynccontextmanager
async def kubelets(cluster: ServedCluster, *nodes: str) -> AsyncIterator[Kubelets]:
    """Nodes that answer, with kubelets."""
    for name in nodes:
        await make_node(cluster, name)
        await answer(cluster, name)
    running = Kubelets(cluster, nodes)
    task = asyncio.create_task(running.run())
    try:
        yield running
    finally:
        running.stop()
        await task


async def heartbeat(cluster: ServedCluster, name: str) -> None:
    """What the kubelet of a node says that is well; nothing of one that is gone."""
    status, _ = await cluster.request("GET", f"/api/v1/nodes/{name}")
    if status == 200:
        await answer(cluster, name)


async def answer(
    cluster: ServedCluster, name: str, ready: str = "True", boot: str = "boot-1"
) -> None:
    """Have a node's kubelet answer, or not."""
    path = f"/api/v1/nodes/{name}"
    node = await cluster.ask("GET", path)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {
        "type": "Ready",
        "status": ready,
        "reason": "Test",
        "lastHeartbeatTime": now,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    info = {**node["status"].get("nodeInfo", {}), "bootID": boot}
    status = {"conditions": [condition], "nodeInfo": info}
    await cluster.ask("PATCH", f"{path}/status", {"status": status}, "merge-patch+json")
    if ready == "True":
        async with asyncio.timeout(30):
            # The node lifecycle controller taints a new node until it has seen that.
            while any(
                taint["key"].startswith("node.kubernetes.io/not-ready")
                for taint in (await cluster.ask("GET", path))["spec"].get("taints", [])
            ):
                await asyncio.sleep(_POLL_S)


async def make_job(
    cluster: ServedCluster, name: str = "trainer", pods: int = 1, **spec: Any
) -> Object:
    """A Job whose pods wait until they are ended."""
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {
            "restartPolicy": "Never",
            # Without a scheduler of that name only the kubelets of the test bind them.
            "schedulerName": "test",
            "terminationGracePeriodSeconds": 30,
            "containers": [{"name": "main", "image": "none"}],
        },
    }
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"parallelism": pods, "completions": pods, "template": template, **spec},
    }
    made: Object = await cluster.ask("POST", f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs", body)
    return made


async def make_budget(cluster: ServedCluster, name: str, app: str, **spec: Any) -> None:
    """A PodDisruptionBudget of the pods with the label `app`."""
    body = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"selector": {"matchLabels": {"app": app}}, **spec},
    }
    await cluster.ask("POST", f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets", body)


async def pods_of(cluster: ServedCluster, app: str = "trainer") -> list[Object]:
    """The pods with a label, as they are now."""
    query = f"labelSelector=app={app}"
    found: Object = await cluster.ask("GET", f"/api/v1/namespaces/{NAMESPACE}/pods?{query}")
    items: list[Object] = found["items"]
    return items


async def settled_pods(cluster: ServedCluster, count: int, app: str = "trainer") -> list[Object]:
    """The pods with a label, once so many run."""
    async with asyncio.timeout(30):
        while True:
            pods = await pods_of(cluster, app)
            running = [pod for pod in pods if pod["status"].get("phase") == "Running"]
            if len(running) == count and len(pods) == count:
                return pods
            await asyncio.sleep(_POLL_S)
