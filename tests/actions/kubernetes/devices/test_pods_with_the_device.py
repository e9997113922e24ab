"""Under `device_only` who leaves is known by the claim of a DRA driver, not by the kubelet alone."""

import asyncio
from typing import Any

import msgspec
import pytest

from accelwatch.action.intent import IntentKind, JobKey
from accelwatch.action.step import Refusal
from accelwatch_kubernetes.devices.claims import claims_of, holders_of
from accelwatch_kubernetes.objects.metadata import unix_seconds
from accelwatch_kubernetes.objects.resource_slice import slices_of
from support.kubernetes.action_on_cluster import Pursuits, action_on, intent, make_node
from support.kubernetes.devices import GPU_0, GPU_1, NVIDIA, device, listed, resource_slice
from support.kubernetes.served import ServedCluster

SLICES = "/apis/resource.k8s.io/v1/resourceslices"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
PODS = "/api/v1/namespaces/default/pods"
RULES = [{"device_only": True, "unowned": True}]


def claim(name: str, *devices: str) -> dict[str, Any]:
    """One that was given some devices of n1."""
    results = [{"driver": NVIDIA, "pool": "n1", "device": entry} for entry in devices]
    status = {"allocation": {"devices": {"results": results}}} if devices else {}
    return {"metadata": {"name": name, "namespace": "ml"}, "status": status}


@pytest.mark.parametrize("bad", [GPU_0.id, GPU_0.slot])
def test_a_claim_has_the_device_by_whatever_name_the_incident_has_of_it(bad: str) -> None:
    claims = claims_of(listed(claim("a", "gpu-0"), claim("b", "gpu-1"), claim("new")))
    found = holders_of(bad, claims, slices_of(listed(resource_slice())))
    assert found == {"a": frozenset({bad}), "b": frozenset({f"{NVIDIA}/n1/gpu-1"})}


def test_who_has_a_part_of_the_device_has_the_device() -> None:
    part = device("gpu-0-mig-1", uuid="MIG-9", parentUUID=GPU_0.id, type="mig")
    slices = slices_of(listed(resource_slice(part)))
    claims = claims_of(listed(claim("a", "gpu-0-mig-1")))
    assert holders_of(GPU_0.id, claims, slices) == {"a": frozenset({GPU_0.id})}


def test_of_a_device_that_nobody_publishes_nothing_is_known() -> None:
    claims = claims_of(listed(claim("a", "gpu-0")))
    assert holders_of("GPU-other", claims, slices_of(listed(resource_slice()))) == {}


async def pod_with_claim(cluster: ServedCluster, name: str, given: str) -> Any:
    """A running pod on n1 whose claim was given a device."""
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": f"claim-{name}"},
        "spec": {"devices": {"requests": [request]}},
    }
    await cluster.ask("POST", CLAIMS, body)
    spec = {
        "nodeName": "n1",
        "automountServiceAccountToken": False,
        "containers": [{"name": "main", "image": "example.com/train:1"}],
        "resourceClaims": [{"name": "gpu", "resourceClaimName": f"claim-{name}"}],
    }
    pod = await cluster.ask(
        "POST", PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    )
    result = {"request": "gpu", "driver": NVIDIA, "pool": "n1", "device": given}
    reserved = {"resource": "pods", "name": name, "uid": pod["metadata"]["uid"]}
    status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [reserved]}
    path = f"{CLAIMS}/claim-{name}/status"
    await cluster.ask("PATCH", path, {"status": status}, "merge-patch+json")
    running = {"status": {"phase": "Running"}}
    return await cluster.ask("PATCH", f"{PODS}/{name}/status", running, "merge-patch+json")


def move_of(pod: Any) -> Any:
    metadata = pod["metadata"]
    submitted = unix_seconds(metadata["creationTimestamp"]) or 0.0
    key = JobKey("cluster", f"default/Pod/{metadata['name']}", submitted)
    wanted = intent(IntentKind.MOVE_JOB, job=key, bad_nodes=("n1",))
    return msgspec.structs.replace(wanted, device=GPU_0.id)


def test_a_drain_evicts_who_has_the_bad_device_and_leaves_the_other(
    cluster: ServedCluster,
) -> None:
    async def run() -> None:
        await cluster.needs(SLICES)
        await make_node(cluster)
        await cluster.ask("POST", SLICES, resource_slice())
        bad = await pod_with_claim(cluster, "bad", "gpu-0")
        good = await pod_with_claim(cluster, "good", "gpu-1")
        async with action_on(cluster, drain=RULES) as action:
            assert list(await action.preview("n1", GPU_0.id)) == [
                "1 pod would be evicted",
                "stays: default/good: it does not hold the bad device",
            ]
            assert list(await action.preview("n1", GPU_1.id))[1].startswith("stays: default/bad")
            await Pursuits(action).pursue(intent(IntentKind.QUARANTINE))
            stays = move_of(good)
            refused = action.propose(stays, await action.observe(stays))
            assert isinstance(refused, Refusal)
            assert "it does not hold the bad device" in refused.text
            leaves = move_of(bad)
            reading = await action.observe(leaves)
            assert "claim-bad" in reading.own["claims"]
            # It would leave, but nobody would make such a pod again.
            lost = action.propose(leaves, reading)
            assert isinstance(lost, Refusal)
            assert "eviction of 1 of its 1 pods" in lost.text

    asyncio.run(run())
