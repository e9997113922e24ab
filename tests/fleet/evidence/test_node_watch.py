"""A hub that watches the nodes of a cluster: conditions are evidence while they last, and no act."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from accelwatch.api_client.kubernetes import mirror
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.evidence import node_watch, sources
from accelwatch.fleet.evidence_settings import Evidence, KubernetesEvidence
from support.fleet.hub_peers import Running, agent, hub
from support.machines import composed as machines
from support.servers.certificate_authority import Authority
from support.servers.fake_kubernetes import Cluster, served

RULES = """\
version: 1
defaults: {keep: 0}
rules:
- id: gpu
  title: A GPU is missing, says a health tool
  scope: node
  when: node.any(event("evidence", code == "evidence_GPUMissing" and subject == "node-problem-detector"))
"""


def a_node(name: str, status: str, **more: Any) -> dict[str, Any]:
    condition = {
        "type": "GPUMissing",
        "status": status,
        "reason": "GPUMissing",
        "message": "7 of 8 GPUs",
        **more,
    }
    address = {"type": "InternalIP", "address": "127.0.0.1"}
    return {
        "metadata": {"name": name, "labels": {"gpu": "yes"}},
        "spec": {},
        "status": {"conditions": [condition], "addresses": [address]},
    }


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror, "_MAX_BACKOFF_S", 0.02)
    monkeypatch.setattr(node_watch, "_SETTLE_S", 0.01)
    monkeypatch.setattr(sources, "_POLL_S", 0.05)


@contextlib.asynccontextmanager
async def watching(
    cluster: Cluster, folder: Path, state_dir: Path | None = None
) -> AsyncIterator[tuple[Running, str]]:
    """A hub with one node of two devices, and the name of the node."""
    authority = Authority(folder)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*authority.issue("kubernetes"))
    token = folder / "token"
    token.write_text(cluster.token)
    rules = folder / "rules.yaml"
    rules.write_text(RULES, encoding="utf-8")
    judged = RuleSettings(files=(str(rules),), interval_s=0.1)
    whole = machines.snapshot(machines.view(0), machines.view(1))
    async with served(cluster, tls) as port:
        of = KubernetesEvidence(
            api_server=f"https://127.0.0.1:{port}",
            token_file=str(token),
            ca_file=str(authority.file),
            label_selector="gpu=yes",
        )
        evidence = Evidence(kubernetes=(of,))
        async with (
            agent(whole) as one,
            hub(one.address, rules=judged, evidence=evidence, state_dir=state_dir) as running,
        ):
            await running.devices(one.address, 2)
            yield running, one.address


def opened(running: Running) -> list[str]:
    assert running.hub.rules is not None
    return [one.rule for one in running.hub.rules.open]


def test_a_condition_is_evidence_for_a_rule_until_it_clears(tmp_path: Path) -> None:
    async def scenario() -> None:
        cluster = Cluster()
        await cluster.put("nodes", a_node("k1", "False"))
        async with watching(cluster, tmp_path) as (running, node):
            await running.until(lambda: bool(cluster.watches))
            await cluster.put("nodes", a_node(node, "True"))
            await running.until(lambda: opened(running) == ["gpu"])
            (incident,) = (await running.get("/v1/incidents"))["incidents"]
            (rests_on,) = incident["evidence"]
            assert (rests_on["source"], rests_on["signal"]) == ("pushed", "evidence_GPUMissing")
            # The class of what anybody who may write there can say: no rule acts on it by itself.
            assert incident["provenance"] == "pushed"
            (active,) = (await running.get("/v1/evidence"))["standing"]
            assert (active["source"], active["by"]) == (
                "node-problem-detector",
                "kubernetes kubernetes",
            )
            await cluster.put("nodes", a_node(node, "False"))
            await running.until(lambda: opened(running) == [])
            assert (await running.get("/v1/evidence"))["standing"] == []

    asyncio.run(scenario())


def test_trap_04_the_condition_is_read_and_never_an_event_about_it(tmp_path: Path) -> None:
    """Of a node that the hub knows by its address only; heartbeats start nothing anew."""

    async def scenario() -> None:
        cluster = Cluster()
        await cluster.put("nodes", a_node("k1", "True"))
        async with watching(cluster, tmp_path) as (running, _):
            await running.until(lambda: len(running.hub.fleet.evidence) == 1)
            for hour in range(10):
                await cluster.put("nodes", a_node("k1", "True", lastHeartbeatTime=f"{hour}"))
            await cluster.put("nodes", a_node("k1", "False"))
            await running.until(lambda: len(running.hub.fleet.evidence) == 0)
            texts = [one.event.text for one in running.hub.fleet.events.after(0)]
            about = [text for text in texts if "7 of 8" in text]
            assert about == ["GPUMissing: 7 of 8 GPUs", "over: GPUMissing: 7 of 8 GPUs"]
        paths = {request.partition("?")[0] for request in (*cluster.lists, *cluster.watches)}
        assert paths == {"/api/v1/nodes"}
        assert all("labelSelector=gpu%3Dyes" in request for request in cluster.lists)

    asyncio.run(scenario())


def test_what_cleared_while_the_hub_was_away_is_over_when_it_is_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        cluster, state = Cluster(), tmp_path / "state"
        state.mkdir(mode=0o700)
        await cluster.put("nodes", a_node("k1", "True"))
        async with watching(cluster, tmp_path, state) as (running, _):
            await running.until(lambda: len(running.hub.fleet.evidence) == 1)
        await cluster.put("nodes", a_node("k1", "False"))
        async with watching(cluster, tmp_path, state) as (running, _):
            await running.until(lambda: len(running.hub.fleet.evidence) == 0)

    asyncio.run(scenario())


def test_a_cluster_that_refuses_is_a_problem_of_the_hub_and_ends_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        cluster = Cluster()
        await cluster.put("nodes", a_node("k1", "True"))
        async with watching(cluster, tmp_path) as (running, _):
            await running.until(lambda: len(running.hub.fleet.evidence) == 1)
            cluster.fault = 403
            await cluster.cut()
            await running.until(lambda: bool(running.hub.fleet.problems))
            (problem,) = running.hub.fleet.problems
            assert problem.startswith("evidence of kubernetes: ")
            assert len(running.hub.fleet.evidence) == 1
            cluster.fault = 0
            await running.until(lambda: not running.hub.fleet.problems)
            assert len(running.hub.fleet.evidence) == 1

    asyncio.run(scenario())


def test_a_node_object_that_is_deleted_takes_its_evidence_along(tmp_path: Path) -> None:
    async def scenario() -> None:
        cluster = Cluster()
        await cluster.put("nodes", a_node("k1", "True"))
        async with watching(cluster, tmp_path) as (running, _):
            await running.until(lambda: len(running.hub.fleet.evidence) == 1)
            await cluster.delete("nodes", "k1", "")
            await running.until(lambda: len(running.hub.fleet.evidence) == 0)

    asyncio.run(scenario())


def test_a_copy_that_nobody_confirms_is_no_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Evidence then runs out after its time instead of being kept for ever."""

    async def scenario() -> None:
        cluster = Cluster()
        async with watching(cluster, tmp_path) as (running, _):
            await running.until(lambda: bool(cluster.watches))
            monkeypatch.setattr(node_watch, "_CONFIRMED_WITHIN_S", 0.0)
            await cluster.put("nodes", a_node("k1", "True"))
            await asyncio.sleep(0.2)
            assert len(running.hub.fleet.evidence) == 0
            monkeypatch.setattr(node_watch, "_CONFIRMED_WITHIN_S", 600.0)
            await cluster.put("nodes", a_node("k1", "True", reason="x"))
            await running.until(lambda: len(running.hub.fleet.evidence) == 1)

    asyncio.run(scenario())
