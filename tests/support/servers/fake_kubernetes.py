"""An API server of a Kubernetes cluster on loopback: lists in pages, watches, bookmarks, 410 Gone.

Composed after the API reference and API concepts of Kubernetes 1.31; it knows pods, nodes and endpoint
slices, label selectors by equality, and bearer tokens.
"""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs

from aiohttp import web

from accelwatch_lab.cluster.kubernetes.api_server.connections import end_connections

Object = dict[str, Any]

KINDS = {"pods": "Pod", "nodes": "Node", "endpointslices": "EndpointSlice"}
VERSIONS = {"pods": "v1", "nodes": "v1", "endpointslices": "discovery.k8s.io/v1"}


def pod(name: str, ip: str, node: str, **labels: str) -> Object:
    """A running pod of the monitoring namespace with a port `metrics`."""
    return {
        "metadata": {
            "name": name,
            "namespace": "monitoring",
            "uid": f"00000000-0000-4000-8000-{abs(hash(name)) % 10**12:012d}",
            "labels": {"app": "accelwatch", **labels},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent"}],
        },
        "spec": {
            "nodeName": node,
            "containers": [
                {
                    "name": "agent",
                    "image": "registry.example/accelwatch:0.2.0",
                    "ports": [{"name": "metrics", "containerPort": 9877, "protocol": "TCP"}],
                }
            ],
        },
        "status": {
            "phase": "Running" if ip else "Pending",
            "podIP": ip,
            "podIPs": [{"ip": ip}] if ip else [],
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def node(name: str, **labels: str) -> Object:
    """A node with labels; underscores of a name stand for slashes, double ones for dots."""
    named = {key.replace("__", ".").replace("_", "/"): value for key, value in labels.items()}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **named}},
        "spec": {"podCIDR": "10.244.0.0/24"},
        "status": {"images": [{"names": ["large"], "sizeBytes": 1}] * 50},
    }


def slice_(name: str, service: str, endpoints: list[Object], family: str = "IPv4") -> Object:
    """A slice of a service with one port."""
    return {
        "metadata": {
            "name": name,
            "namespace": "monitoring",
            "labels": {"kubernetes.io/service-name": service, "app": "accelwatch"},
        },
        "addressType": family,
        "endpoints": endpoints,
        "ports": [{"name": "metrics", "port": 9877, "protocol": "TCP"}],
    }


def end(address: str, pod_name: str, node_name: str, *, ready: bool = True) -> Object:
    """One endpoint."""
    return {
        "addresses": [address],
        "conditions": {"ready": ready, "serving": ready, "terminating": False},
        "nodeName": node_name,
        "targetRef": {"kind": "Pod", "namespace": "monitoring", "name": pod_name},
    }


class Cluster:
    """What the server knows, and how it behaves."""

    def __init__(self) -> None:
        self.version = 1000
        self.objects: dict[str, dict[str, Object]] = {kind: {} for kind in KINDS}
        self.log: list[tuple[int, str, str, Object]] = []
        # Watches from before this version are gone.
        self.oldest = 0
        self.token = "first"
        self.lists: list[str] = []
        self.watches: list[str] = []
        self.accepts: list[str] = []
        # A status that every request is answered with.
        self.fault = 0
        # So many continued lists are answered with 410.
        self.lose_pages = 0
        self._changed = asyncio.Condition()
        self._cut = 0

    async def put(self, kind: str, *given: Object) -> None:
        """Add or change objects."""
        for one in given:
            key = f"{one['metadata'].get('namespace', '')}/{one['metadata']['name']}"
            event = "MODIFIED" if key in self.objects[kind] else "ADDED"
            await self._record(kind, event, key, one)

    async def delete(self, kind: str, name: str, namespace: str = "monitoring") -> None:
        """Remove an object."""
        key = f"{namespace}/{name}"
        await self._record(kind, "DELETED", key, self.objects[kind][key])

    async def _record(self, kind: str, event: str, key: str, one: Object) -> None:
        self.version += 1
        metadata = {**one["metadata"], "resourceVersion": str(self.version)}
        whole = {"kind": KINDS[kind], "apiVersion": VERSIONS[kind], **one, "metadata": metadata}
        if event == "DELETED":
            del self.objects[kind][key]
        else:
            self.objects[kind][key] = whole
        self.log.append((self.version, event, kind, whole))
        async with self._changed:
            self._changed.notify_all()

    async def compact(self) -> None:
        """Forget the past, and end every watch."""
        self.version += 1
        self.log, self.oldest = [], self.version
        await self.cut()

    async def cut(self) -> None:
        """End every watch."""
        async with self._changed:
            self._cut += 1
            self._changed.notify_all()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        query = {key: one[0] for key, one in parse_qs(request.query_string).items()}
        parts = request.path.strip("/").split("/")
        kind, namespace = parts[-1], parts[-2] if "namespaces" in parts else ""
        self.accepts.append(request.headers["Accept"])
        if self.fault:
            return _status(self.fault, "Forbidden")
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return _status(401, "Unauthorized")
        group = f"/apis/{VERSIONS[kind]}" if "/" in VERSIONS[kind] else "/api/v1"
        if kind not in KINDS or not request.path.startswith(group):
            return _status(404, "NotFound")
        wanted = _Wanted(namespace, query.get("labelSelector", ""), request.headers["Accept"])
        if query.get("watch") == "1":
            self.watches.append(request.path_qs)
            return await self._watch(request, kind, wanted, int(query["resourceVersion"]))
        self.lists.append(request.path_qs)
        return self._list(kind, wanted, query)

    def _list(self, kind: str, wanted: "_Wanted", query: dict[str, str]) -> web.Response:
        if "continue" in query and self.lose_pages:
            self.lose_pages -= 1
            return _status(410, "Expired")
        found = [one for _, one in sorted(self.objects[kind].items()) if wanted.matches(one)]
        start, limit = int(query.get("continue", "0")), int(query.get("limit", "0")) or len(found)
        page = found[start : start + limit]
        metadata: Object = {"resourceVersion": str(self.version)}
        if start + limit < len(found):
            metadata["continue"] = str(start + limit)
            metadata["remainingItemCount"] = len(found) - start - limit
        items = [wanted.shaped(one) for one in page] or None  # an empty Go slice is null
        body = {"kind": f"{KINDS[kind]}List", "apiVersion": "v1", "metadata": metadata}
        return web.json_response({**body, "items": items})

    async def _watch(
        self, request: web.BaseRequest, kind: str, wanted: "_Wanted", since: int
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        if since < self.oldest:
            text = f"too old resource version: {since} ({self.oldest})"
            gone = {"kind": "Status", "status": "Failure", "reason": "Expired", "code": 410}
            await _send(response, "ERROR", {**gone, "message": text})
            return response
        cut = self._cut
        while cut == self._cut:
            news = [one for one in self.log if one[0] > since]
            for version, event, of, whole in news:
                since = version
                if of == kind and wanted.matches(whole):
                    await _send(response, event, wanted.shaped(whole))
            if news:
                mark = {"metadata": {"resourceVersion": str(since)}}
                await _send(response, "BOOKMARK", {"kind": KINDS[kind], **mark})
            async with self._changed:
                if cut == self._cut and not any(one[0] > since for one in self.log):
                    await self._changed.wait()
        return response


class _Wanted:
    def __init__(self, namespace: str, selector: str, accept: str) -> None:
        self._namespace = namespace
        self._labels = dict(part.split("=", 1) for part in selector.split(",") if part)
        self._partial = "PartialObjectMetadata" in accept

    def matches(self, one: Object) -> bool:
        metadata = one["metadata"]
        if self._namespace and metadata.get("namespace") != self._namespace:
            return False
        return bool(self._labels.items() <= metadata.get("labels", {}).items())

    def shaped(self, one: Object) -> Object:
        if not self._partial:
            return one
        return {
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": one["metadata"],
        }


def _status(code: int, reason: str) -> web.Response:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    return web.json_response({**body, "reason": reason, "message": reason}, status=code)


async def _send(response: web.StreamResponse, event: str, one: Object) -> None:
    line = json.dumps({"type": event, "object": one}).encode() + b"\n"
    half = len(line) // 2
    await response.write(line[:half])
    await response.write(line[half:])


@contextlib.asynccontextmanager
async def served(cluster: Cluster, tls: ssl.SSLContext | None) -> AsyncIterator[int]:
    """The cluster's API server; its port."""
    server = web.Server(cluster.handle)
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await cluster.cut()
        await end_connections(server)
        await runner.cleanup()
