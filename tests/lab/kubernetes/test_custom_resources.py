"""Custom resources, as workloads of Kueue or JobSet are; on the stand-in and on real servers."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from support.kubernetes.objects import MERGE, STRATEGIC
from support.kubernetes.served import ServedCluster

Object = dict[str, Any]
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "lab.accelwatch.io"
NAME = f"trainings.{GROUP}"
TRAININGS = f"/apis/{GROUP}/v1/namespaces/default/trainings"
_WAIT_S = 60


def definition() -> Object:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    names = {"plural": "trainings", "singular": "training", "kind": "Training"}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]}
    about = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**about, "metadata": {"name": NAME}, "spec": spec}


def training(name: str = "t1") -> Object:
    about = {"apiVersion": f"{GROUP}/v1", "kind": "Training", "metadata": {"name": name}}
    return {**about, "spec": {"suspend": False, "replicas": [1, 2]}}


def with_trainings(cluster: ServedCluster, check: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        await cluster.ask("POST", DEFINITIONS, definition())
        try:
            async with asyncio.timeout(_WAIT_S):
                while (await cluster.request("POST", TRAININGS, training()))[0] != 201:
                    await asyncio.sleep(0.05)
            await check()
        finally:
            await cluster.ask("DELETE", f"{DEFINITIONS}/{NAME}")
            async with asyncio.timeout(_WAIT_S):
                while (await cluster.request("GET", f"{DEFINITIONS}/{NAME}"))[0] != 404:
                    await asyncio.sleep(0.05)

    asyncio.run(run())


def test_what_is_defined_is_served(cluster: ServedCluster) -> None:
    async def check() -> None:
        listed = await cluster.ask("GET", TRAININGS)
        # Items of a custom resource name their kind.
        assert (listed["kind"], listed["items"][0]["kind"]) == ("TrainingList", "Training")
        found = await cluster.ask("GET", f"{TRAININGS}/t1")
        assert found["spec"] == {"suspend": False, "replicas": [1, 2]}
        group = await cluster.ask("GET", f"/apis/{GROUP}/v1")
        names = {resource["name"] for resource in group["resources"]}
        assert names == {"trainings", "trainings/status"}

    with_trainings(cluster, check)


def test_a_merge_patch_changes_it_and_counts_generations(cluster: ServedCluster) -> None:
    async def check() -> None:
        made = await cluster.ask("GET", f"{TRAININGS}/t1")
        stale = {"metadata": {"resourceVersion": "1"}, "spec": {"suspend": True}}
        status, refusal = await cluster.request("PATCH", f"{TRAININGS}/t1", stale, kind=MERGE)
        assert (status, refusal["reason"]) == (409, "Conflict")
        patch = {"spec": {"suspend": True}}
        changed = await cluster.ask("PATCH", f"{TRAININGS}/t1", patch, MERGE)
        assert changed["spec"] == {"suspend": True, "replicas": [1, 2]}
        generations = [each["metadata"]["generation"] for each in (made, changed)]
        assert generations == [1, 2]

    with_trainings(cluster, check)


def test_its_status_is_written_by_the_subresource_alone(cluster: ServedCluster) -> None:
    async def check() -> None:
        patch = {"spec": {"suspend": True}, "status": {"phase": "Running"}}
        changed = await cluster.ask("PATCH", f"{TRAININGS}/t1/status", patch, MERGE)
        assert (changed["spec"]["suspend"], changed["status"]) == (False, {"phase": "Running"})
        changed = await cluster.ask("PATCH", f"{TRAININGS}/t1", {"status": None}, MERGE)
        assert changed["status"] == {"phase": "Running"}

    with_trainings(cluster, check)


def test_it_takes_no_strategic_merge_patch(cluster: ServedCluster) -> None:
    async def check() -> None:
        patch = {"spec": {"suspend": True}}
        status, refusal = await cluster.request("PATCH", f"{TRAININGS}/t1", patch, kind=STRATEGIC)
        assert (status, refusal["reason"]) == (415, "UnsupportedMediaType")

    with_trainings(cluster, check)


def test_what_is_defined_no_longer_is_not_served(cluster: ServedCluster) -> None:
    async def check() -> None:
        await cluster.ask("DELETE", f"{TRAININGS}/t1")
        assert (await cluster.request("GET", f"{TRAININGS}/t1"))[0] == 404

    with_trainings(cluster, check)
    # Not a Status: nobody of the group is there to write one.
    assert asyncio.run(cluster.request("GET", TRAININGS)) == (404, "404 page not found\n")
