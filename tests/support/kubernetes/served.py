"""What tests do with a cluster, whoever serves it: requests, and nothing left behind."""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from accelwatch_lab.cluster.kubernetes.access import Access, Account, access_of, token_file

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


class ServedCluster:
    """A cluster whose API server has its files in a folder."""

    # `real` or `stand-in`.
    kind = ""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tls: ssl.SSLContext | None = None

    @property
    def version(self) -> str:
        """Of Kubernetes."""
        raise NotImplementedError

    def start(self) -> None:
        """Start all of it."""
        raise NotImplementedError

    def end(self) -> None:
        """End all of it."""
        raise NotImplementedError

    def kill_api_server(self) -> None:
        """End the API server, and nothing else."""
        raise NotImplementedError

    def start_api_server(self) -> None:
        """Start it again where it was; it knows what it knew."""
        raise NotImplementedError

    def access(self, account: Account = Account.HUB) -> Access:
        """How somebody reaches it."""
        return access_of(self.folder, account)

    def token_file(self, account: Account = Account.HUB) -> Path:
        """The file of somebody's token."""
        return token_file(self.folder, account)

    @property
    def tls(self) -> ssl.SSLContext:
        """Of whoever trusts it."""
        if self._tls is None:
            self._tls = ssl.create_default_context(cafile=self.access().ca_file)
        return self._tls

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
        async with (
            aiohttp.ClientSession() as session,
            session.request(
                method,
                url + path,
                data=None if body is None else json.dumps(body),
                headers=headers,
                ssl=self.tls,
            ) as answer,
        ):
            text = await answer.text()
            # What is not served at all is answered in plain text.
            is_json = answer.content_type == "application/json"
            return answer.status, json.loads(text) if is_json else text

    async def ask(self, method: str, path: str, body: Any = None, kind: str = "json") -> Any:
        """What the server answers an administrator, who is not refused."""
        status, document = await self.request(method, path, body, kind=kind)
        assert status < 300, document
        return document

    @contextlib.asynccontextmanager
    async def watch(self, path: str) -> AsyncIterator[AsyncIterator[Any]]:
        """The events of a watch, for an administrator, until it ends."""
        url, _, token = self.access(Account.ADMIN)
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.get(f"{url}{path}", ssl=self.tls) as answer,
        ):
            assert answer.status == 200

            async def events() -> AsyncIterator[Any]:
                async for line in answer.content:
                    yield json.loads(line)

            yield events()
            # The loop of a test ends before TLS would have been shut down.
            if answer.connection is not None and answer.connection.transport is not None:
                answer.connection.transport.abort()

    async def needs(self, path: str) -> None:
        """Skip the test on a version that serves nothing there."""
        status, _ = await self.request("GET", path)
        if status == 404:
            pytest.skip(f"Kubernetes {self.version} does not serve {path}")

    async def clear(self) -> None:
        """Leave no workload, pod and node behind; namespaces and roles stay."""
        for path in (*_IN_NAMESPACES, *_OF_CLUSTER):
            status, found = await self.request("GET", path)
            # Not every version serves every kind.
            for item in found["items"] if status == 200 else ():
                await self.request("DELETE", f"{_path(path, item['metadata'])}?{_AT_ONCE}")
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


def _path(path: str, metadata: Any) -> str:
    """Of an object in the list of all of its kind."""
    path = path.partition("?")[0]
    if "namespace" not in metadata:
        return f"{path}/{metadata['name']}"
    group, _, resource = path.rpartition("/")
    return f"{group}/namespaces/{metadata['namespace']}/{resource}/{metadata['name']}"
