"""The example's JobSet under the real controller: one pod is evicted, the others restart in place."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from accelwatch.action.intent import IntentKind, JobKey
from accelwatch.action.step import Refusal
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch_kubernetes.objects.metadata import unix_seconds
from support.kubernetes.action_on_cluster import NAME, Pursuits, action_on, intent
from support.kubernetes.jobset import PodsOfAgents, built, controller
from support.kubernetes.objects import NODES, node
from support.kubernetes.real import RealCluster, real_cluster

JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
ATTEMPT = "jobset.sigs.k8s.io/in-place-restart-attempt"
Pods = dict[str, dict[str, Any]]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RealCluster]:
    built()
    with real_cluster(tmp_path) as running:
        yield running


async def created(server: RealCluster, manifest: dict[str, Any]) -> dict[str, Any]:
    """The JobSet, as soon as the webhooks of its controller answer."""
    async with asyncio.timeout(120):
        while True:
            status, document = await server.request("POST", JOBSETS, manifest)
            if status == 201:
                jobset: dict[str, Any] = document
                return jobset
            # 404 before the definition is served, 500 before the webhooks are.
            assert status in {404, 500}, document
            await asyncio.sleep(0.2)


async def pods_at(server: RealCluster, attempt: int) -> Pods:
    """The pods by their index once all four run and are at this attempt, which the JobSet confirms."""
    async with asyncio.timeout(120):
        while True:
            found = (await server.ask("GET", "/api/v1/pods"))["items"]
            status = (await server.ask("GET", f"{JOBSETS}/train")).get("status", {})
            here = [
                pod
                for pod in found
                if pod["metadata"].get("annotations", {}).get(ATTEMPT) == str(attempt)
            ]
            if (
                len(here) == len(found) == 4
                and status.get("currentInPlaceRestartAttempt") == attempt
            ):
                return {
                    pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"]: pod
                    for pod in here
                }
            await asyncio.sleep(0.1)


def test_a_quarantined_node_loses_its_pod_and_the_others_restart_in_place(
    server: RealCluster, examples: Path, tmp_path: Path
) -> None:
    manifest = yaml.safe_load((examples / "jobset-in-place" / "jobset.yaml").read_text())
    manifest["spec"]["failurePolicy"]["maxRestarts"] = 1

    async def scenario() -> None:
        for number in range(1, 7):
            await server.ask("POST", NODES, node(f"n{number}"))
        pods = PodsOfAgents(server, tmp_path)
        async with controller(server, tmp_path), pods.working(), action_on(server) as action:
            jobset = await created(server, manifest)
            before = await pods_at(server, 0)
            moved = before["0"]
            place = moved["spec"]["nodeName"]
            submitted = unix_seconds(jobset["metadata"]["creationTimestamp"]) or 0.0
            key = JobKey(NAME, "default/JobSet/train", submitted)
            pursuits = Pursuits(action)
            held = await pursuits.pursue(intent(IntentKind.QUARANTINE, place))
            assert held.result is PursuitResult.ACHIEVED, held.text
            wanted = intent(IntentKind.MOVE_JOB, place, job=key, bad_nodes=(place,))
            done = await pursuits.pursue(wanted, within_s=120.0)
            assert done.result is PursuitResult.ACHIEVED, done.text
            after = await pods_at(server, 1)
            assert after["0"]["spec"]["nodeName"] != place
            for index in ("1", "2", "3"):
                # The same pod on the same node, its container restarted once.
                assert after[index]["metadata"]["uid"] == before[index]["metadata"]["uid"]
                (container,) = after[index]["status"]["containerStatuses"]
                assert container["restartCount"] == 1
            # Its only restart is spent: another eviction would fail the JobSet for good.
            other = after["1"]["spec"]["nodeName"]
            held = await pursuits.pursue(intent(IntentKind.QUARANTINE, other, incident="inc-2"))
            again = intent(
                IntentKind.MOVE_JOB, other, incident="inc-2", job=key, bad_nodes=(other,)
            )
            refusal = action.propose(again, await action.observe(again))
            assert isinstance(refusal, Refusal), refusal
            assert "1 of maxRestarts 1 are spent" in refusal.text

    asyncio.run(scenario())
