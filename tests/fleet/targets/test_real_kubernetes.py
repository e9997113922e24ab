"""Targets from a real API server with our example's permissions, where its programs are in the cache."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accelwatch.api_client.kubernetes import mirror
from accelwatch.fleet.scrape_settings import Authorization, TlsConfig
from accelwatch.fleet.targets.kubernetes import discovery
from accelwatch.fleet.targets.kubernetes.discovery import KubernetesTargets
from accelwatch.fleet.targets.rules import Rules
from accelwatch.fleet.targets.settings import KubernetesSd
from support.fleet.target_discovery import Finding, finding
from support.kubernetes.real import RealCluster, real_cluster
from support.servers.fake_kubernetes import end, node, pod, slice_

RBAC = Path(__file__).resolve().parents[3] / "examples" / "hub" / "kubernetes-rbac.yaml"
PODS = "/api/v1/namespaces/monitoring/pods"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/monitoring/endpointslices"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    with real_cluster(tmp_path_factory.mktemp("kubernetes")) as one:
        yield one


@pytest.fixture
def server(running: RealCluster) -> Iterator[RealCluster]:
    yield running
    asyncio.run(running.clear())


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror, "_MAX_BACKOFF_S", 0.2)
    monkeypatch.setattr(mirror, "_PAGE", 2)
    monkeypatch.setattr(discovery, "_SETTLE_S", 0.05)


def way(server: RealCluster, **given: Any) -> KubernetesTargets:
    access = server.access()
    settings = KubernetesSd(
        api_server=access.url,
        authorization=Authorization(credentials_file=str(server.token_file())),
        tls_config=TlsConfig(ca_file=str(access.ca_file)),
        **given,
    )
    return KubernetesTargets(settings, Rules())


async def _create(server: RealCluster, one: dict[str, Any]) -> None:
    """A pod as the scheduler and the kubelet would leave it."""
    name = one["metadata"]["name"]
    made = await server.ask("POST", PODS, _bare(one))
    status = {**made, "status": one["status"]}
    await server.ask("PUT", f"{PODS}/{name}/status", status)


def _bare(one: dict[str, Any]) -> dict[str, Any]:
    owned = ("ownerReferences", "uid")
    metadata = {key: value for key, value in one["metadata"].items() if key not in owned}
    return {**one, "metadata": metadata}


async def _prepare(server: RealCluster) -> None:
    for name in ("monitoring", "accelwatch"):
        await server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    await server.apply(RBAC)
    for name, rack in (("n1", "r1"), ("n2", "r2")):
        whole = {**node(name, example__org_rack=rack), "spec": {}, "status": {}}
        await server.ask("POST", "/api/v1/nodes", whole)


def _names(one: Finding) -> list[str]:
    return sorted(target.node for target in one.targets)


def test_a_real_server_lists_pods_nodes_and_endpoints(server: RealCluster) -> None:
    async def main() -> None:
        await _prepare(server)
        for number in (1, 2, 3):
            await _create(server, pod(f"a{number}", f"10.1.0.{number}", f"n{number}"))
        await _create(server, pod("other", "10.1.0.9", "n9", app="other"))
        pods = way(
            server,
            label_selector="app=accelwatch",
            node_labels={"example.org/rack": "rack"},
        )
        async with finding(pods) as one:
            await one.until(lambda: _names(one) == ["n1", "n2", "n3"])
            racks = {target.node: target.labels.get("rack") for target in one.targets}
            assert racks == {"n1": "r1", "n2": "r2", "n3": None}
            await _create(server, pod("a4", "10.1.0.4", "n4"))
            await one.until(lambda: "n4" in _names(one))
            await server.ask("DELETE", f"{PODS}/a1?gracePeriodSeconds=0")
            await one.until(lambda: _names(one) == ["n2", "n3", "n4"])
            await _relabel(server, "n2", "r7")
            await one.until(lambda: "r7" in {t.labels.get("rack") for t in one.targets})
            assert not pods.kept.complaints
            server.kill_api_server()
            await one.until(lambda: bool(pods.kept.complaints))
            assert _names(one) == ["n2", "n3", "n4"]
            server.servers.start_api_server()
            await _create(server, pod("a5", "10.1.0.5", "n5"))
            await one.until(lambda: _names(one) == ["n2", "n3", "n4", "n5"])
            assert not pods.kept.complaints
        await _endpoints(server)

    asyncio.run(main())


async def _relabel(server: RealCluster, name: str, rack: str) -> None:
    patch = {"metadata": {"labels": {"example.org/rack": rack}}}
    await server.ask("PATCH", f"/api/v1/nodes/{name}", patch, "merge-patch+json")


async def _endpoints(server: RealCluster) -> None:
    ends = [end("10.1.0.2", "a2", "n2"), end("10.1.0.3", "a3", "n3", ready=False)]
    await server.ask("POST", SLICES, slice_("agents-1", "agents", ends))
    given = {"role": "endpointslice", "service": "agents", "namespaces": ("monitoring",)}
    async with finding(way(server, **given)) as one:
        await one.until(lambda: one.addresses == ["10.1.0.2:9877", "10.1.0.3:9877"])
        await server.ask("DELETE", f"{SLICES}/agents-1")
        await one.until(lambda: not one.targets)


def test_what_is_not_permitted_is_reported(server: RealCluster) -> None:
    async def main() -> None:
        pods = way(server)
        async with finding(pods) as one:
            await one.until(lambda: "403" in pods.kept.complaints.get("/api/v1/pods", ""))
            assert not one.targets

    asyncio.run(main())
