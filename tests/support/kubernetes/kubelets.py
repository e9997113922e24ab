"""Kubelets for tests, over the API of any cluster: heartbeats, pods that run at once and end at once."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

from accelwatch_lab.cluster.kubernetes.api import pod_path
from support.kubernetes.objects import MERGE, NODES, STRATEGIC, node
from support.kubernetes.served import ServedCluster

Object = dict[str, Any]
_ROUND_S = 0.02
_FINISHED = ("Succeeded", "Failed")


class Kubelets:
    """Of all nodes of a cluster but the silent ones."""

    def __init__(self, cluster: ServedCluster) -> None:
        self._cluster = cluster
        # Names of nodes whose kubelet neither starts nor ends a pod.
        self.silent: set[str] = set()
        self._stops = False

    async def add_node(self, name: str, gpus: int = 8, **labels: str) -> None:
        """A node that is ready, and has lost the taint of a new one."""
        await self._cluster.ask("POST", NODES, node(name, labels=labels))
        amount = {"cpu": "96", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": str(gpus)}
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        ready = {
            "type": "Ready",
            "status": "True",
            "reason": "KubeletReady",
            "lastHeartbeatTime": now,
        }
        status = {
            "capacity": amount,
            "allocatable": amount,
            "conditions": [ready],
            "nodeInfo": {"bootID": f"boot-of-{name}", "systemUUID": f"system-of-{name}"},
            "addresses": [{"type": "Hostname", "address": name}],
        }
        await self._cluster.ask("PATCH", f"{NODES}/{name}/status", {"status": status}, STRATEGIC)
        async with asyncio.timeout(30):
            while (await self._cluster.ask("GET", f"{NODES}/{name}"))["spec"].get("taints"):
                await asyncio.sleep(_ROUND_S)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Let them work, and a scheduler that puts each pod on a node that takes it."""
        task = asyncio.create_task(self._run())
        try:
            yield
        finally:
            # Not in the middle of a request: its connection would be left behind.
            self._stops = True
            await task

    async def _run(self) -> None:
        while not self._stops:
            for pod in (await self._cluster.ask("GET", "/api/v1/pods"))["items"]:
                if not pod["spec"].get("nodeName"):
                    await self._bind(pod)
                elif pod["spec"]["nodeName"] not in self.silent:
                    await self._update(pod)
            await asyncio.sleep(_ROUND_S)

    async def _bind(self, pod: Object) -> None:
        for candidate in (await self._cluster.ask("GET", NODES))["items"]:
            name, spec = candidate["metadata"]["name"], candidate["spec"]
            if not spec.get("unschedulable") and not spec.get("taints"):
                metadata = {"name": pod["metadata"]["name"]}
                target = {"apiVersion": "v1", "kind": "Node", "name": name}
                binding = {
                    "apiVersion": "v1",
                    "kind": "Binding",
                    "metadata": metadata,
                    "target": target,
                }
                await self._cluster.request("POST", f"{pod_path(pod)}/binding", binding)
                return

    async def _update(self, pod: Object) -> None:
        """A pod may have gone meanwhile: a refusal is none of a kubelet's business."""
        phase = pod["status"].get("phase")
        if "deletionTimestamp" in pod["metadata"]:
            if phase not in _FINISHED:
                await self.finish(pod, 137)
            uid = {"uid": pod["metadata"]["uid"]}
            body = {"gracePeriodSeconds": 0, "preconditions": uid}
            await self._cluster.request("DELETE", pod_path(pod), body)
        elif phase == "Pending":
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            state = {"running": {"startedAt": now}}
            await self._report(pod, "Running", "True", state, startTime=now)

    async def finish(self, pod: Object, exit_code: int = 0) -> None:
        """Have a pod end by itself."""
        phase = "Failed" if exit_code else "Succeeded"
        await self._report(pod, phase, "False", {"terminated": {"exitCode": exit_code}})

    async def _report(
        self, pod: Object, phase: str, ready: str, state: Object, **more: str
    ) -> None:
        status = pod["status"]
        others = [each for each in status.get("conditions", ()) if each["type"] != "Ready"]
        container = {"name": "main", "image": "none", "imageID": "", "restartCount": 0}
        container |= {"ready": ready == "True", "state": state}
        patch = {
            "metadata": {"resourceVersion": pod["metadata"]["resourceVersion"]},
            "status": {
                "phase": phase,
                "conditions": [*others, {"type": "Ready", "status": ready}],
                "containerStatuses": [container],
                **more,
            },
        }
        await self._cluster.request("PATCH", f"{pod_path(pod)}/status", patch, kind=MERGE)
