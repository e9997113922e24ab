"""How an API server takes writes: what the action relies on, on the stand-in and on real servers."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.kubernetes.objects import JSON, MERGE, NODES, PODS, STRATEGIC, TAINT_RULES, node, pod
from support.kubernetes.served import ServedCluster

OURS = {"key": "accelwatch.io/quarantine", "value": "xid", "effect": "NoSchedule"}
FOREIGN = {"key": "example.com/broken", "effect": "NoSchedule"}
Object = dict[str, Any]


def on_a_node(
    cluster: ServedCluster, check: Callable[[Object], Awaitable[None]], *taints: Object
) -> None:
    async def run() -> None:
        await cluster.ask("POST", NODES, node())
        # The server adds a taint of its own to a new node.
        made = await cluster.ask("PATCH", f"{NODES}/n1", {"spec": {"taints": list(taints)}}, MERGE)
        await check(made)

    asyncio.run(run())


def keys(found: Object) -> set[str]:
    """Without those that real controllers put on a node that has no heartbeats."""
    taints = {taint["key"] for taint in found["spec"].get("taints", ())}
    return {key for key in taints if not key.startswith("node.kubernetes.io/")}


def test_a_new_node_is_tainted_until_it_is_ready(cluster: ServedCluster) -> None:
    made = asyncio.run(cluster.ask("POST", NODES, node("n1", FOREIGN)))
    added = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    assert made["spec"]["taints"] == [FOREIGN, added]


def test_a_merge_patch_for_another_version_is_a_conflict(cluster: ServedCluster) -> None:
    async def check(made: Object) -> None:
        version = made["metadata"]["resourceVersion"]
        await cluster.ask("PATCH", f"{NODES}/n1", {"metadata": {"labels": {"a": "b"}}}, MERGE)
        patch = {"metadata": {"resourceVersion": version}, "spec": {"taints": [OURS]}}
        status, refusal = await cluster.request("PATCH", f"{NODES}/n1", patch, kind=MERGE)
        assert (status, refusal["reason"]) == (409, "Conflict")
        assert keys(await cluster.ask("GET", f"{NODES}/n1")) == set()

    on_a_node(cluster, check)


def test_a_merge_patch_for_the_current_version_changes_all_at_once(cluster: ServedCluster) -> None:
    async def check(_: Object) -> None:
        metadata: Object = {"annotations": {"accelwatch.io/hold": "{}"}}
        patch = {"metadata": metadata, "spec": {"taints": [FOREIGN, OURS], "unschedulable": True}}
        status = 409
        while status == 409:
            # Real controllers write to a new node as well.
            made = await cluster.ask("GET", f"{NODES}/n1")
            metadata["resourceVersion"] = made["metadata"]["resourceVersion"]
            status, changed = await cluster.request("PATCH", f"{NODES}/n1", patch, kind=MERGE)
        assert changed["spec"]["taints"] == [FOREIGN, OURS]
        assert changed["spec"]["unschedulable"]
        assert changed["metadata"]["annotations"]["accelwatch.io/hold"] == "{}"
        assert changed["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]

    on_a_node(cluster, check, FOREIGN)


def test_a_json_patch_whose_test_fails_is_unprocessable_and_no_conflict(
    cluster: ServedCluster,
) -> None:
    async def check(_: Object) -> None:
        patch = [
            {"op": "test", "path": "/metadata/resourceVersion", "value": "1"},
            {"op": "add", "path": "/spec/unschedulable", "value": True},
        ]
        status, refusal = await cluster.request("PATCH", f"{NODES}/n1", patch, kind=JSON)
        assert (status, refusal["reason"]) == (422, "Invalid")
        assert "unschedulable" not in (await cluster.ask("GET", f"{NODES}/n1"))["spec"]

    on_a_node(cluster, check)


def test_trap_14_a_strategic_merge_patch_replaces_the_taints(cluster: ServedCluster) -> None:
    async def check(_: Object) -> None:
        patch = {"spec": {"taints": [OURS]}}
        await cluster.ask("PATCH", f"{NODES}/n1", patch, STRATEGIC)
        assert keys(await cluster.ask("GET", f"{NODES}/n1")) == {"accelwatch.io/quarantine"}

    on_a_node(cluster, check, FOREIGN)


def test_trap_14_a_forced_apply_replaces_the_taints_too(cluster: ServedCluster) -> None:
    async def check(_: Object) -> None:
        applied = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n1"},
            "spec": {"taints": [OURS]},
        }
        path = f"{NODES}/n1?fieldManager=accelwatch"
        status, refusal = await cluster.request("PATCH", path, applied, kind="apply-patch+yaml")
        assert (status, refusal["reason"]) == (409, "Conflict")
        assert keys(await cluster.ask("GET", f"{NODES}/n1")) == {"example.com/broken"}
        await cluster.ask("PATCH", f"{path}&force=true", applied, "apply-patch+yaml")
        assert keys(await cluster.ask("GET", f"{NODES}/n1")) == {"accelwatch.io/quarantine"}

    on_a_node(cluster, check, FOREIGN)


def test_conditions_are_merged_by_type_and_by_their_subresource_alone(
    cluster: ServedCluster,
) -> None:
    async def check(_: Object) -> None:
        for kind in ("Ready", "AcceleratorHealthy"):
            condition = {"type": kind, "status": "True", "reason": "Lab"}
            patch = {"status": {"conditions": [condition]}, "spec": {"unschedulable": True}}
            await cluster.ask("PATCH", f"{NODES}/n1/status", patch, STRATEGIC)
        patch = {"status": {"conditions": [{"type": "Else", "status": "True"}]}}
        await cluster.ask("PATCH", f"{NODES}/n1", patch, STRATEGIC)
        found = await cluster.ask("GET", f"{NODES}/n1")
        assert {each["type"] for each in found["status"]["conditions"]} == {
            "Ready",
            "AcceleratorHealthy",
        }
        assert "unschedulable" not in found["spec"]

    on_a_node(cluster, check)


def test_what_changes_nothing_is_no_write(cluster: ServedCluster) -> None:
    async def check(_: Object) -> None:
        patch = {"spec": {"taints": [FOREIGN]}}
        versions: list[str] = []
        # Real controllers write to a new node as well, and then no longer.
        while len(versions) < 2 or versions[-1] != versions[-2]:
            assert len(versions) < 50, "each patch is a write"
            changed = await cluster.ask("PATCH", f"{NODES}/n1", patch, MERGE)
            versions.append(changed["metadata"]["resourceVersion"])

    on_a_node(cluster, check, FOREIGN)


def test_a_dry_run_answers_and_changes_nothing(cluster: ServedCluster) -> None:
    async def check(_: Object) -> None:
        patch = {"spec": {"taints": [OURS]}}
        answer = await cluster.ask("PATCH", f"{NODES}/n1?dryRun=All", patch, MERGE)
        assert keys(answer) == {"accelwatch.io/quarantine"}
        await cluster.ask("POST", f"{NODES}?dryRun=All", node("n2"))
        await cluster.ask("DELETE", f"{NODES}/n1?dryRun=All")
        items = (await cluster.ask("GET", NODES))["items"]
        assert [item["metadata"]["name"] for item in items] == ["n1"]
        assert keys(items[0]) == set()

    on_a_node(cluster, check)


def test_an_unknown_field_is_dropped_or_with_strict_refused(cluster: ServedCluster) -> None:
    async def check(_: Object) -> None:
        patch = {"spec": {"bogus": True}}
        assert "bogus" not in (await cluster.ask("PATCH", f"{NODES}/n1", patch, MERGE))["spec"]
        path = f"{NODES}/n1?fieldValidation=Strict"
        status, refusal = await cluster.request("PATCH", path, patch, kind=MERGE)
        assert (status, refusal["reason"]) == (422, "Invalid")
        assert 'unknown field "spec.bogus"' in refusal["message"]
        wrong = {**node("n2"), "spec": {"bogus": True}}
        status, refusal = await cluster.request("POST", f"{NODES}?fieldValidation=Strict", wrong)
        assert (status, refusal["reason"]) == (400, "BadRequest")

    on_a_node(cluster, check)


@pytest.mark.parametrize(
    "taint",
    [
        {"key": "a", "effect": "Never"},
        {"key": "a", "effect": "NoSchedule", "value": "two words"},
        {"key": "a", "effect": "NoSchedule", "value": "v" * 64},
        {"key": "a key", "effect": "NoSchedule"},
        {"key": "a"},
    ],
)
def test_a_taint_that_is_none_is_invalid(cluster: ServedCluster, taint: Object) -> None:
    async def check(_: Object) -> None:
        patch = {"spec": {"taints": [taint]}}
        status, refusal = await cluster.request("PATCH", f"{NODES}/n1", patch, kind=MERGE)
        assert (status, refusal["reason"]) == (422, "Invalid")

    on_a_node(cluster, check)


def test_a_key_and_effect_is_there_once(cluster: ServedCluster) -> None:
    async def check(_: Object) -> None:
        patch = {"spec": {"taints": [OURS, {**OURS, "value": "other"}]}}
        status, _refusal = await cluster.request("PATCH", f"{NODES}/n1", patch, kind=MERGE)
        assert status == 422
        patch = {"spec": {"taints": [OURS, {**OURS, "effect": "NoExecute"}]}}
        await cluster.ask("PATCH", f"{NODES}/n1", patch, MERGE)

    on_a_node(cluster, check)


@pytest.mark.parametrize(
    "selector",
    [
        {"deviceClassName": "gpu"},
        {"selectors": [{"cel": {"expression": "device.driver == 'gpu'"}}]},
    ],
)
def test_trap_06_an_old_device_selector_is_stored_as_everything(
    cluster: ServedCluster, selector: Object
) -> None:
    rule = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "old"},
        "spec": {"deviceSelector": selector, "taint": {"key": "a.b/c", "effect": "None"}},
    }

    async def run() -> None:
        await cluster.needs(TAINT_RULES)
        strict = f"{TAINT_RULES}?fieldValidation=Strict"
        status, refusal = await cluster.request("POST", strict, rule)
        assert (status, refusal["reason"]) == (400, "BadRequest")
        stored = await cluster.ask("POST", TAINT_RULES, rule)
        assert stored["spec"]["deviceSelector"] == {}

    asyncio.run(run())


def test_device_taints_are_served_in_one_version(cluster: ServedCluster) -> None:
    async def run() -> None:
        await cluster.needs(TAINT_RULES)
        group = await cluster.ask("GET", "/apis/resource.k8s.io")
        assert [version["version"] for version in group["versions"]] == ["v1"]
        status, _ = await cluster.request("GET", "/apis/resource.k8s.io/v1beta2/devicetaintrules")
        assert status == 404

    asyncio.run(run())


def test_preconditions_of_a_deletion_are_kept(cluster: ServedCluster) -> None:
    async def run() -> None:
        await cluster.ask("POST", NODES, node())
        made = await cluster.ask("POST", PODS, pod())
        for wrong in ({"uid": "another"}, {"resourceVersion": "1"}):
            body = {"preconditions": wrong}
            status, refusal = await cluster.request("DELETE", f"{PODS}/p1", body)
            assert (status, refusal["reason"]) == (409, "Conflict")
        right = {"preconditions": {"uid": made["metadata"]["uid"]}, "gracePeriodSeconds": 30}
        deleted = await cluster.ask("DELETE", f"{PODS}/p1", right)
        assert deleted["metadata"]["deletionGracePeriodSeconds"] == 30

    asyncio.run(run())


def test_a_pod_that_ends_keeps_its_name(cluster: ServedCluster) -> None:
    async def run() -> None:
        await cluster.ask("POST", NODES, node())
        made = await cluster.ask("POST", PODS, pod())
        await cluster.ask("DELETE", f"{PODS}/p1")
        status, refusal = await cluster.request("POST", PODS, pod())
        assert (status, refusal["reason"]) == (409, "AlreadyExists")
        await cluster.ask("DELETE", f"{PODS}/p1", {"gracePeriodSeconds": 0})
        assert (await cluster.ask("POST", PODS, pod()))["metadata"]["uid"] != made["metadata"][
            "uid"
        ]

    asyncio.run(run())
