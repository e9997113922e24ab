"""Real servers of Kubernetes for tests: an admin's requests, and nothing left for the next test."""

import asyncio
import contextlib
import json
import signal
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from accelwatch_lab.cluster.kubernetes.access import Access, Account, token_file
from accelwatch_lab.cluster.kubernetes.installed import (
    API_SERVER,
    NAMES,
    Programs,
    programs,
    requested_version,
)
from accelwatch_lab.cluster.kubernetes.servers import Servers
from accelwatch_lab.cluster.processes import Processes
from accelwatch_lab.cluster.waiting import until

# What a test may leave behind: who makes pods first, then pods, then the nodes that they were on.
_IN_NAMESPACES = (
    *(f"/apis/apps/v1/{name}" for name in ("deployments", "statefulsets", "daemonsets")),
    "/apis/batch/v1/jobs",
    "/apis/apps/v1/replicasets",
    "/apis/policy/v1/poddisruptionbudgets",
    "/apis/resource.k8s.io/v1/resourceclaims",
    "/api/v1/pods",
    "/api/v1/events",
)
_OF_CLUSTER = (
    "/apis/resource.k8s.io/v1/devicetaintrules",
    "/apis/resource.k8s.io/v1/resourceslices",
    "/api/v1/nodes",
    # But those that the server made.
    *(
        f"/apis/rbac.authorization.k8s.io/v1/{name}?labelSelector=!kubernetes.io/bootstrapping"
        for name in ("clusterrolebindings", "clusterroles")
    ),
)
_AT_ONCE = "gracePeriodSeconds=0&propagationPolicy=Background"


class RealCluster:
    """Servers that run, and what administrators do."""

    kind = "real"

    def __init__(self, processes: Processes, found: Programs) -> None:
        self._processes = processes
        self.servers = Servers(processes, found)
        self._tls: ssl.SSLContext | None = None

    @property
    def version(self) -> str:
        """Of Kubernetes."""
        return self.servers.version

    def access(self, account: Account = Account.HUB) -> Access:
        """How somebody reaches it."""
        return self.servers.access(account)

    def token_file(self, account: Account = Account.HUB) -> Path:
        """The file of somebody's token."""
        return token_file(self.servers.folder, account)

    def start(self) -> None:
        """Start all of it."""
        self.servers.start()
        self._tls = ssl.create_default_context(cafile=self.access().ca_file)

    def end(self) -> None:
        """End all of it."""
        self._processes.stop(grace_s=0)

    def kill_api_server(self) -> None:
        """End the API server, and nothing else."""
        assert self._processes.signal(API_SERVER, signal.SIGKILL)
        until(lambda: not self._processes.runs(API_SERVER), "the API server has ended")

    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        account: Account = Account.ADMIN,
        kind: str = "json",
    ) -> tuple[int, Any]:
        """Status and document that the server answers somebody."""
        url, _, token = self.access(account)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": f"application/{kind}"}
        assert self._tls is not None, "it was not started"
        async with (
            aiohttp.ClientSession() as session,
            session.request(
                method,
                url + path,
                data=None if body is None else json.dumps(body),
                headers=headers,
                ssl=self._tls,
            ) as answer,
        ):
            return answer.status, await answer.json(content_type=None)

    async def ask(self, method: str, path: str, body: Any = None, kind: str = "json") -> Any:
        """What the server answers an administrator, who is not refused."""
        status, document = await self.request(method, path, body, kind=kind)
        assert status < 300, document
        return document

    async def clear(self) -> None:
        """Leave no workload, pod and node behind; namespaces and roles stay."""
        for path in (*_IN_NAMESPACES, *_OF_CLUSTER):
            status, found = await self.request("GET", path)
            # Not every version serves every kind.
            for item in found["items"] if status == 200 else ():
                await self.request("DELETE", f"{_place(path, item['metadata'])}?{_AT_ONCE}")
        async with asyncio.timeout(60):
            # A controller takes its finalizers off first.
            while (await self.ask("GET", "/api/v1/pods?limit=1"))["items"]:
                await asyncio.sleep(0.05)

    async def apply(self, manifests: Path) -> None:
        """Have the objects of a file of manifests, as they are there."""
        for one in yaml.safe_load_all(manifests.read_text()):
            await self._apply_object(one)

    async def _apply_object(self, manifest: Any) -> None:
        path = await self._collection(manifest)
        name = manifest["metadata"]["name"]
        query = "fieldManager=admin&force=true&fieldValidation=Strict"
        await self.ask("PATCH", f"{path}/{name}?{query}", manifest, "apply-patch+yaml")

    async def _collection(self, manifest: Any) -> str:
        """Where objects like this one are."""
        version = str(manifest["apiVersion"])
        group = f"/apis/{version}" if "/" in version else f"/api/{version}"
        for resource in (await self.ask("GET", group))["resources"]:
            if resource["kind"] == manifest["kind"] and "/" not in resource["name"]:
                namespace = manifest["metadata"].get("namespace", "default")
                inside = f"/namespaces/{namespace}" if resource["namespaced"] else ""
                return f"{group}{inside}/{resource['name']}"
        raise AssertionError(f"the server knows no {manifest['kind']} of {version}")


def _place(path: str, metadata: Any) -> str:
    """Of an object in the list of all of its kind."""
    path = path.partition("?")[0]
    if "namespace" not in metadata:
        return f"{path}/{metadata['name']}"
    group, _, resource = path.rpartition("/")
    return f"{group}/namespaces/{metadata['namespace']}/{resource}/{metadata['name']}"


@contextlib.contextmanager
def real_cluster(folder: Path) -> Iterator[RealCluster]:
    """Servers that run in a folder; skips the test where they are not in the cache."""
    found = programs()
    if found is None:
        pytest.skip(f"the servers {', '.join(NAMES)} of {requested_version()} are not in the cache")
    cluster = RealCluster(Processes(folder), found)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.end()
