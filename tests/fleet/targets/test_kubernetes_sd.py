"""Targets from a cluster's API server: lists, watches, node labels, tokens that change."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from accelwatch.api_client.kubernetes import mirror
from accelwatch.api_client.kubernetes.server import ACCOUNT
from accelwatch.base.errors import UsageError
from accelwatch.fleet.follow import access
from accelwatch.fleet.scrape_settings import Authorization, TlsConfig
from accelwatch.fleet.targets.kubernetes import discovery
from accelwatch.fleet.targets.kubernetes.discovery import KubernetesTargets, within_cluster
from accelwatch.fleet.targets.rules import Rules
from accelwatch.fleet.targets.settings import KubernetesSd
from support.fleet.target_discovery import Finding, finding
from support.servers.certificate_authority import Authority
from support.servers.fake_kubernetes import Cluster, end, node, pod, served, slice_


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "_CHECK_EVERY_S", 0.0)
    monkeypatch.setattr(mirror, "_MAX_BACKOFF_S", 0.02)
    monkeypatch.setattr(discovery, "_SETTLE_S", 0.01)


class Account:
    """A service account's folder, as a pod has it."""

    def __init__(self, authority: Authority) -> None:
        self.folder = authority.folder / "serviceaccount"
        self.folder.mkdir()
        (self.folder / "ca.crt").write_bytes(authority.file.read_bytes())
        self.token("first")
        certificate, key = authority.issue("kubernetes")
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(certificate, key)

    def token(self, text: str) -> None:
        (self.folder / "token").write_text(text)

    @contextlib.asynccontextmanager
    async def watching(
        self, cluster: Cluster, **given: Any
    ) -> AsyncIterator[tuple[Finding, KubernetesTargets]]:
        async with served(cluster, self.tls) as port:
            environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": f"{port}"}
            configured = within_cluster(KubernetesSd(**given), environ, self.folder)
            way = KubernetesTargets(configured, Rules())
            async with finding(way) as one:
                yield one, way


@pytest.fixture
def account(authority: Authority) -> Account:
    return Account(authority)


def _names(one: Finding) -> list[str]:
    return sorted(target.node for target in one.targets)


def test_pods_come_change_and_go(account: Account) -> None:
    async def main() -> None:
        cluster = Cluster()
        await cluster.put(
            "pods", pod("a1", "10.1.0.1", "n1"), pod("other", "10.1.0.9", "n9", app="x")
        )
        async with account.watching(cluster, label_selector="app=accelwatch") as (one, _):
            await one.until(lambda: one.addresses == ["10.1.0.1:9877"])
            (target,) = one.targets
            assert (target.node, target.labels) == ("n1", {"namespace": "monitoring", "pod": "a1"})
            await cluster.put("pods", pod("a2", "", "n2"))
            await cluster.put("pods", pod("a3", "10.1.0.3", "n3"))
            await one.until(lambda: _names(one) == ["n1", "n3"])
            await cluster.put("pods", pod("a2", "10.1.0.2", "n2"))
            await one.until(lambda: _names(one) == ["n1", "n2", "n3"])
            await cluster.delete("pods", "a1")
            await one.until(lambda: _names(one) == ["n2", "n3"])
            ended = pod("a3", "10.1.0.3", "n3")
            ended["status"]["phase"] = "Failed"
            await cluster.put("pods", ended)
            await one.until(lambda: _names(one) == ["n2"])
        assert len(cluster.lists) == len(cluster.watches) == 1

    asyncio.run(main())


def test_what_changes_nothing_that_is_read_costs_nothing(account: Account) -> None:
    async def main() -> None:
        cluster = Cluster()
        await cluster.put("pods", pod("a1", "10.1.0.1", "n1"))
        async with account.watching(cluster) as (one, _):
            await one.until(lambda: _names(one) == ["n1"] and len(cluster.watches) == 1)
            await asyncio.sleep(0.05)
            turns = one.turns
            for count in range(20):
                same = pod("a1", "10.1.0.1", "n1")
                same["status"]["conditions"][0]["lastProbeTime"] = f"2030-01-01T00:00:{count:02d}Z"
                await cluster.put("pods", same)
            await asyncio.sleep(0.1)
            assert one.turns == turns
            await cluster.put("pods", pod("a1", "10.1.0.2", "n1"))
            await one.until(lambda: one.addresses == ["10.1.0.2:9877"])

    asyncio.run(main())


def test_a_watch_that_ends_goes_on_where_it_was(account: Account) -> None:
    async def main() -> None:
        cluster = Cluster()
        await cluster.put("pods", pod("a1", "10.1.0.1", "n1"))
        async with account.watching(cluster) as (one, _):
            await one.until(lambda: _names(one) == ["n1"])
            await cluster.put("pods", pod("a2", "10.1.0.2", "n2"))
            await one.until(lambda: _names(one) == ["n1", "n2"])
            await cluster.cut()
            await cluster.put("pods", pod("a3", "10.1.0.3", "n3"))
            await one.until(lambda: _names(one) == ["n1", "n2", "n3"])
        assert len(cluster.lists) == 1
        assert "resourceVersion=1002" in cluster.watches[-1]

    asyncio.run(main())


def test_what_is_too_old_is_listed_anew(account: Account) -> None:
    async def main() -> None:
        cluster = Cluster()
        await cluster.put("pods", pod("a1", "10.1.0.1", "n1"), pod("a2", "10.1.0.2", "n2"))
        async with account.watching(cluster) as (one, way):
            await one.until(lambda: _names(one) == ["n1", "n2"])
            await cluster.delete("pods", "a1")
            await cluster.compact()
            await one.until(lambda: _names(one) == ["n2"])
            assert not way.kept.complaints
            await cluster.put("pods", pod("a3", "10.1.0.3", "n3"))
            await one.until(lambda: _names(one) == ["n2", "n3"])
        assert len(cluster.lists) >= 2

    asyncio.run(main())


@pytest.mark.parametrize("lost", [0, 1])
def test_long_lists_come_in_pages(
    account: Account, monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    monkeypatch.setattr(mirror, "_PAGE", 10)

    async def main() -> None:
        cluster = Cluster()
        cluster.lose_pages = lost
        await cluster.put("pods", *(pod(f"a{n}", f"10.1.0.{n}", f"n{n}") for n in range(25)))
        async with account.watching(cluster) as (one, _):
            await one.until(lambda: len(one.targets) == 25)
        assert ("limit" in cluster.lists[-1]) == (not lost)

    asyncio.run(main())


def test_labels_of_nodes_are_joined_in(account: Account) -> None:
    async def main() -> None:
        cluster = Cluster()
        await cluster.put("nodes", node("n1", topology__example_rack="r1"), node("n2"))
        await cluster.put("pods", pod("a1", "10.1.0.1", "n1", tier="gold"))
        await cluster.put("pods", pod("a2", "10.1.0.2", "n2"))
        wanted = {"topology.example/rack": "rack", "cloud.example/pool": "pool"}
        async with account.watching(
            cluster, node_labels=wanted, pod_labels={"tier": "class"}, labels={"site": "s"}
        ) as (one, _):
            await one.until(lambda: len(one.targets) == 2)
            first, second = sorted(one.targets, key=lambda target: target.node)
            static = {"namespace": "monitoring", "site": "s"}
            assert first.labels == {**static, "pod": "a1", "rack": "r1", "class": "gold"}
            assert second.labels == {**static, "pod": "a2"}
            await cluster.put("nodes", node("n2", cloud__example_pool="p"))
            await one.until(lambda: any(target.labels.get("pool") for target in one.targets))
        assert any("PartialObjectMetadataList" in accept for accept in cluster.accepts)

    asyncio.run(main())


def test_endpoints_of_a_service(account: Account) -> None:
    async def main() -> None:
        cluster = Cluster()
        four = [end("10.1.0.1", "a1", "n1"), end("10.1.0.2", "a2", "n2", ready=False)]
        await cluster.put("endpointslices", slice_("agents-1", "agents", four))
        six = slice_("agents-2", "agents", [end("fd00::1", "a1", "n1"), end("fd00::3", "a3", "n3")])
        await cluster.put("endpointslices", {**six, "addressType": "IPv6"})
        empty = {**slice_("agents-3", "agents", []), "endpoints": None, "ports": None}
        await cluster.put("endpointslices", empty)
        await cluster.put("endpointslices", slice_("web-1", "web", [end("10.2.0.1", "w", "n1")]))
        given = {"role": "endpointslice", "service": "agents", "namespaces": ("monitoring",)}
        async with account.watching(cluster, **given) as (one, _):
            expected = ["10.1.0.1:9877", "10.1.0.2:9877", "[fd00::3]:9877"]
            await one.until(lambda: one.addresses == expected)
            target = min(one.targets, key=lambda target: target.node)
            assert target.node == "n1"
            assert target.labels == {"namespace": "monitoring", "service": "agents", "pod": "a1"}
        assert "/namespaces/monitoring/endpointslices" in cluster.lists[0]
        assert "service-name%3Dagents" in cluster.lists[0].replace("=", "%3D")

    asyncio.run(main())


def test_ports_by_name(account: Account) -> None:
    async def main() -> None:
        cluster = Cluster()
        other = pod("a2", "10.1.0.2", "n2")
        other["spec"]["containers"][0]["ports"] = [{"name": "web", "containerPort": 80}]
        renumbered = pod("a1", "10.1.0.1", "n1")
        renumbered["spec"]["containers"][0]["ports"][0]["containerPort"] = 9400
        await cluster.put("pods", renumbered, other)
        async with account.watching(cluster, port_name="metrics") as (one, _):
            await one.until(lambda: one.addresses == ["10.1.0.1:9400"])

    asyncio.run(main())


def test_a_new_token_is_read_and_failures_keep_the_targets(account: Account) -> None:
    async def main() -> None:
        cluster = Cluster()
        await cluster.put("pods", pod("a1", "10.1.0.1", "n1"))
        async with account.watching(cluster) as (one, way):
            await one.until(lambda: _names(one) == ["n1"])
            cluster.token = "second"
            await cluster.cut()
            await one.until(lambda: bool(way.kept.complaints))
            assert "401" in way.kept.complaints["/api/v1/pods"]
            assert _names(one) == ["n1"]
            account.token("second")
            await cluster.put("pods", pod("a2", "10.1.0.2", "n2"))
            await one.until(lambda: _names(one) == ["n1", "n2"])
            assert not way.kept.complaints
            cluster.fault = 403
            await cluster.cut()
            await one.until(lambda: "403" in way.kept.complaints.get("/api/v1/pods", ""))
            assert _names(one) == ["n1", "n2"]

    asyncio.run(main())


def test_a_namespace_that_is_forbidden_costs_no_other(account: Account) -> None:
    class Half(Cluster):
        async def handle(self, request: Any) -> Any:
            self.fault = 403 if "/secret/" in request.path else 0
            return await super().handle(request)

    async def main() -> None:
        cluster = Half()
        await cluster.put("pods", pod("a1", "10.1.0.1", "n1"))
        async with account.watching(cluster, namespaces=("secret", "monitoring")) as (one, way):
            await one.until(lambda: _names(one) == ["n1"])
            assert list(way.kept.complaints) == ["/api/v1/namespaces/secret/pods"]

    asyncio.run(main())


def test_outside_a_cluster_the_server_is_named(authority: Authority, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="api_server"):
        within_cluster(KubernetesSd(), {})
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    inside = within_cluster(KubernetesSd(), environ)
    assert inside.api_server == "https://[fd00::1]:443"
    assert inside.tls_config.ca_file == str(ACCOUNT / "ca.crt")
    named = KubernetesSd(
        api_server="https://k8s.example:6443/clusters/c1",
        authorization=Authorization(credentials_file="/t"),
        tls_config=TlsConfig(ca_file="/ca"),
    )
    assert within_cluster(named, environ) == named
