"""Conditions of nodes on API servers, with the rights of the example's manifest and no others."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from accelwatch.api_client.kubernetes import mirror
from accelwatch.base.clock import SystemClock
from accelwatch.fleet.evidence import node_watch
from accelwatch.fleet.evidence.intake import EvidenceIntake
from accelwatch.fleet.evidence.node_watch import NodeWatch
from accelwatch.fleet.evidence.reconciler import KUBERNETES, Reconciler
from accelwatch.fleet.evidence_settings import Evidence, KubernetesEvidence
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.liveness import Thresholds
from accelwatch.fleet.target import targets_of
from support.kubernetes.served import ServedCluster
from support.kubernetes.stand_in import StandInCluster

RBAC = Path(__file__).resolve().parents[3] / "examples" / "hub" / "kubernetes-rbac.yaml"
NODES = "/api/v1/nodes"
WITHIN_S = 60.0


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror, "_MAX_BACKOFF_S", 0.1)
    monkeypatch.setattr(node_watch, "_SETTLE_S", 0.01)


async def prepare(cluster: ServedCluster, *names: str) -> None:
    """Roles, and nodes without a kubelet."""
    status, _ = await cluster.request("GET", "/api/v1/namespaces/accelwatch")
    if status == 404:
        space = {"metadata": {"name": "accelwatch"}}
        await cluster.ask("POST", "/api/v1/namespaces", space)
    await cluster.apply(RBAC)
    for name in names:
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
        await cluster.ask("POST", NODES, node)


async def set_condition(
    cluster: ServedCluster, name: str, status: str, kind: str = "GPUMissing"
) -> None:
    """What a node problem detector would patch."""
    now = "2026-11-28T10:00:00Z"
    condition = {
        "type": kind,
        "status": status,
        "reason": "GPUsAreMissing",
        "message": "7 of 8",
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }
    kind_of_patch = "strategic-merge-patch+json"
    patch = {"status": {"conditions": [condition]}}
    await cluster.ask("PATCH", f"{NODES}/{name}/status", patch, kind_of_patch)


class Watching:
    """A fleet that knows the nodes, and the cluster's watch."""

    def __init__(self, cluster: ServedCluster) -> None:
        self.fleet = Fleet(SystemClock(), Thresholds(), None)
        self.fleet.set_targets(targets_of(["n[1-3]:9877"]))
        access = cluster.access()
        settings = KubernetesEvidence(
            api_server=access.url,
            token_file=str(cluster.token_file()),
            ca_file=str(access.ca_file),
        )
        reconciler = Reconciler(EvidenceIntake(self.fleet), Evidence, KUBERNETES, "kubernetes")
        self.watch = NodeWatch(settings, reconciler, {})

    async def __aenter__(self) -> "Watching":
        self._task = asyncio.create_task(self.watch.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    @property
    def active(self) -> list[tuple[str, str]]:
        return sorted((one.node, one.event.code) for one in self.fleet.evidence.all())

    async def until(self, active: list[tuple[str, str]]) -> None:
        async with asyncio.timeout(WITHIN_S):
            while self.active != active:
                await asyncio.sleep(0.01)


def test_conditions_taints_and_labels_are_read_with_the_rights_to_look(
    cluster: ServedCluster,
) -> None:
    async def scenario() -> None:
        await prepare(cluster, "n1", "n2", "n3")
        await set_condition(cluster, "n1", "True")
        async with Watching(cluster) as watching:
            await watching.until([("n1", "evidence_GPUMissing")])
            await set_condition(cluster, "n2", "True", "AMDGPUUnhealthy")
            taints = [{"key": "amd-gpu-unhealthy", "effect": "NoSchedule", "value": "x"}]
            merge: dict[str, Any] = {"spec": {"taints": taints}}
            await cluster.ask("PATCH", f"{NODES}/n3", merge, "merge-patch+json")
            expected = [
                ("n1", "evidence_GPUMissing"),
                ("n2", "evidence_AMDGPUUnhealthy"),
                ("n3", "evidence_amd_gpu_unhealthy"),
            ]
            await watching.until(expected)
            await set_condition(cluster, "n1", "False")
            await cluster.ask("DELETE", f"{NODES}/n2")
            await watching.until(expected[2:])
            assert watching.watch.problem == ""

    asyncio.run(scenario())


def test_our_own_condition_and_taint_are_no_evidence(cluster: ServedCluster) -> None:
    async def scenario() -> None:
        await prepare(cluster, "n1", "n2")
        await set_condition(cluster, "n1", "False", "AcceleratorHealthy")
        taints = [{"key": "accelwatch.io/quarantine", "effect": "NoSchedule", "value": "gpu"}]
        await cluster.ask("PATCH", f"{NODES}/n1", {"spec": {"taints": taints}}, "merge-patch+json")
        async with Watching(cluster) as watching:
            await set_condition(cluster, "n2", "True")
            await watching.until([("n2", "evidence_GPUMissing")])

    asyncio.run(scenario())


def test_a_watch_that_starts_again_misses_no_end(stand_in: StandInCluster) -> None:
    async def scenario() -> None:
        await prepare(stand_in, "n1", "n2")
        await set_condition(stand_in, "n1", "True")
        async with Watching(stand_in) as watching:
            await watching.until([("n1", "evidence_GPUMissing")])
            stand_in.compact()
            await set_condition(stand_in, "n1", "False")
            await set_condition(stand_in, "n2", "True")
            await watching.until([("n2", "evidence_GPUMissing")])

    asyncio.run(scenario())
