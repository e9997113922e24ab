"""What a DeviceTaintRule does, on the stand-in and on real servers."""

import asyncio
import re
from collections.abc import Callable, Coroutine
from typing import Any

from support.kubernetes.objects import MERGE, NODES, PODS, TAINT_RULES, node, pod, running
from support.kubernetes.served import ServedCluster

Object = dict[str, Any]
GROUP = "/apis/resource.k8s.io/v1"
CLAIMS = f"{GROUP}/namespaces/default/resourceclaims"
DRIVER = "gpu.example.com"
_WAIT_S = 60


def object_of(kind: str, name: str, spec: Object) -> Object:
    about = {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name}}
    return {**about, "spec": spec}


def rule(selector: Object, effect: str) -> Object:
    taint = {"key": "accelwatch.io/quarantine", "value": "xid", "effect": effect}
    return object_of("DeviceTaintRule", "r", {"deviceSelector": selector, "taint": taint})


ONE_DEVICE = {"driver": DRIVER, "pool": "n1", "device": "gpu-0"}


async def publish(cluster: ServedCluster) -> None:
    """A node with two devices, each of which a pod holds."""
    await cluster.ask("POST", NODES, node())
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"gpu-{index}"} for index in range(2)]
    slice_ = {"driver": DRIVER, "nodeName": "n1", "pool": pool, "devices": devices}
    await cluster.ask("POST", f"{GROUP}/resourceslices", object_of("ResourceSlice", "s", slice_))
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
    for index in range(2):
        name = f"p{index}"
        claim = object_of("ResourceClaim", name, {"devices": {"requests": [request]}})
        await cluster.ask("POST", CLAIMS, claim)
        holder = pod(name)
        holder["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": name}]
        made = await cluster.ask("POST", PODS, holder)
        await cluster.ask("PATCH", f"{PODS}/{name}/status", running(), MERGE)
        result = {"request": "gpu", "driver": DRIVER, "pool": "n1", "device": f"gpu-{index}"}
        user = {"resource": "pods", "name": name, "uid": made["metadata"]["uid"]}
        status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [user]}
        await cluster.ask("PATCH", f"{CLAIMS}/{name}/status", {"status": status}, MERGE)


async def reason(cluster: ServedCluster, expected: str) -> str:
    """Message of the rule's condition, when it has the reason."""
    async with asyncio.timeout(_WAIT_S):
        while True:
            status = (await cluster.ask("GET", f"{TAINT_RULES}/r")).get("status", {})
            for condition in status.get("conditions", ()):
                if (condition["type"], condition["reason"]) == ("EvictionInProgress", expected):
                    return str(condition["message"])
            await asyncio.sleep(0.02)


async def leaving(cluster: ServedCluster) -> list[str]:
    """Pods whose deletion has begun."""
    items = (await cluster.ask("GET", PODS))["items"]
    return [item["metadata"]["name"] for item in items if "deletionTimestamp" in item["metadata"]]


def with_devices(cluster: ServedCluster, check: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        await cluster.needs(TAINT_RULES)
        await publish(cluster)
        await check()

    asyncio.run(run())


async def create(cluster: ServedCluster, selector: Object, effect: str) -> None:
    await cluster.ask("POST", f"{TAINT_RULES}?fieldValidation=Strict", rule(selector, effect))


def test_the_effect_none_counts_whom_the_rule_would_evict(cluster: ServedCluster) -> None:
    async def check() -> None:
        await create(cluster, ONE_DEVICE, "None")
        message = await reason(cluster, "NoEffect")
        assert re.findall(r"(\d+) (published|allocated|pod)", message) == [
            ("1", "published"),
            ("1", "allocated"),
            ("1", "pod"),
        ]
        assert await leaving(cluster) == []

    with_devices(cluster, check)


def test_trap_05_an_empty_selector_is_every_device(cluster: ServedCluster) -> None:
    async def check() -> None:
        await create(cluster, {}, "None")
        message = await reason(cluster, "NoEffect")
        assert "2 published devices selected. 2 allocated devices selected. 2 pods" in message

    with_devices(cluster, check)


def test_no_execute_evicts_the_pods_that_hold_the_device(cluster: ServedCluster) -> None:
    async def check() -> None:
        await create(cluster, ONE_DEVICE, "NoExecute")
        async with asyncio.timeout(_WAIT_S):
            while await leaving(cluster) != ["p0"]:
                await asyncio.sleep(0.02)
        found = await cluster.ask("GET", f"{PODS}/p0")
        reasons = {each["type"]: each.get("reason") for each in found["status"]["conditions"]}
        assert reasons["DisruptionTarget"] == "DeletionByDeviceTaintManager"
        assert "1 pod evicted" in await reason(cluster, "Completed")

    with_devices(cluster, check)


def test_no_schedule_evicts_nobody(cluster: ServedCluster) -> None:
    async def check() -> None:
        await create(cluster, ONE_DEVICE, "NoSchedule")
        await reason(cluster, "OtherEffect")
        assert await leaving(cluster) == []

    with_devices(cluster, check)
