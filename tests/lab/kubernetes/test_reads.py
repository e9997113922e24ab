"""How an API server is read: pages, selectors, watches, identity; on the stand-in and on real ones."""

import asyncio
from typing import Any

import aiohttp

from accelwatch_lab.cluster.kubernetes.access import Account
from support.kubernetes.objects import MERGE, NODES, PODS, node, pod
from support.kubernetes.served import ServedCluster

Object = dict[str, Any]
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


async def version_of(cluster: ServedCluster, path: str) -> str:
    return str((await cluster.ask("GET", path))["metadata"]["resourceVersion"])


def test_a_list_in_pages_is_of_one_version(cluster: ServedCluster) -> None:
    async def run() -> None:
        for number in range(5):
            await cluster.ask("POST", NODES, node(f"n{number}"))
        first = await cluster.ask("GET", f"{NODES}?limit=2")
        assert first["metadata"]["remainingItemCount"] == 3
        await cluster.ask("POST", NODES, node("n9"))
        token = first["metadata"]["continue"]
        second = await cluster.ask("GET", f"{NODES}?limit=5&continue={token}")
        names = [item["metadata"]["name"] for item in first["items"] + second["items"]]
        assert names == [f"n{number}" for number in range(5)]
        assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
        assert "continue" not in second["metadata"]

    asyncio.run(run())


def test_items_of_a_list_do_not_name_their_kind(cluster: ServedCluster) -> None:
    async def run() -> None:
        await cluster.ask("POST", NODES, node())
        listed = await cluster.ask("GET", NODES)
        assert listed["kind"] == "NodeList"
        assert "kind" not in listed["items"][0]
        assert (await cluster.ask("GET", f"{NODES}/n1"))["kind"] == "Node"

    asyncio.run(run())


def test_pods_are_selected_by_node_and_label(cluster: ServedCluster) -> None:
    async def run() -> None:
        for name, where, app in (("p1", "n1", "a"), ("p2", "n1", "b"), ("p3", "n2", "a")):
            await cluster.ask("POST", PODS, pod(name, where, app=app))
        for query, names in (
            ("fieldSelector=spec.nodeName=n1", ["p1", "p2"]),
            ("labelSelector=app=a", ["p1", "p3"]),
            ("labelSelector=app!=a", ["p2"]),
            ("labelSelector=app in (b,c)", ["p2"]),
            ("labelSelector=!app", []),
            ("fieldSelector=spec.nodeName=n1&labelSelector=app=a", ["p1"]),
        ):
            found = await cluster.ask("GET", f"{PODS}?{query.replace(' ', '%20')}")
            assert [item["metadata"]["name"] for item in found["items"]] == names, query
        status, refusal = await cluster.request("GET", f"{PODS}?fieldSelector=spec.bogus=1")
        assert (status, refusal["reason"]) == (400, "BadRequest")

    asyncio.run(run())


def test_a_watch_goes_on_from_a_version(cluster: ServedCluster) -> None:
    async def run() -> None:
        version = await version_of(cluster, NODES)
        await cluster.ask("POST", NODES, node())
        query = f"watch=1&resourceVersion={version}"
        async with cluster.watch(f"{NODES}?{query}") as events:
            assert (await anext(events))["type"] == "ADDED"
            await cluster.ask("PATCH", f"{NODES}/n1", {"spec": {"unschedulable": True}}, MERGE)
            changed = await anext(events)
            # Controllers write to a new node as well.
            while "unschedulable" not in changed["object"]["spec"]:
                changed = await anext(events)
            assert changed["type"] == "MODIFIED"
            await cluster.ask("DELETE", f"{NODES}/n1")
            deleted = await anext(events)
            while deleted["type"] == "MODIFIED":
                deleted = await anext(events)
            assert deleted["type"] == "DELETED"
            last = int(deleted["object"]["metadata"]["resourceVersion"])
            assert last > int(changed["object"]["metadata"]["resourceVersion"])

    asyncio.run(run())


def test_a_watch_that_selects_sees_objects_come_and_go(cluster: ServedCluster) -> None:
    async def run() -> None:
        version = await version_of(cluster, NODES)
        query = f"watch=1&resourceVersion={version}&labelSelector=pool=a"
        await cluster.ask("POST", NODES, node())
        async with cluster.watch(f"{NODES}?{query}") as events:
            for pool, kind in (("a", "ADDED"), ("b", "DELETED"), ("a", "ADDED")):
                patch = {"metadata": {"labels": {"pool": pool}}}
                await cluster.ask("PATCH", f"{NODES}/n1", patch, MERGE)
                assert (await anext(events))["type"] == kind

    asyncio.run(run())


def test_a_watch_without_a_version_starts_with_what_there_is(cluster: ServedCluster) -> None:
    async def run() -> None:
        await cluster.ask("POST", NODES, node())
        async with cluster.watch(f"{NODES}?watch=1") as events:
            event = await anext(events)
            assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "n1")

    asyncio.run(run())


def test_an_unknown_token_is_not_known_and_a_known_one_may_nothing(cluster: ServedCluster) -> None:
    async def run() -> None:
        await cluster.ask("POST", NODES, node())
        url = cluster.access().url
        async with (
            aiohttp.ClientSession(headers={"Authorization": "Bearer other"}) as session,
            session.get(f"{url}{NODES}", ssl=cluster.tls) as answer,
        ):
            assert answer.status == 401
            assert (await answer.json())["reason"] == "Unauthorized"
        status, refusal = await cluster.request("GET", f"{NODES}/n1", account=Account.HUB)
        assert (status, refusal["reason"]) == (403, "Forbidden")
        assert 'cannot get resource "nodes" in API group ""' in refusal["message"]

    asyncio.run(run())


def test_a_role_permits_what_it_lists(cluster: ServedCluster) -> None:
    group = "rbac.authorization.k8s.io"
    rules = [
        {
            "apiGroups": [""],
            "resources": ["nodes"],
            "verbs": ["get", "patch"],
            "resourceNames": ["n1"],
        },
        {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
    ]
    role = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "hub"},
        "rules": rules,
    }
    account = {"kind": "ServiceAccount", "name": "accelwatch-hub", "namespace": "accelwatch"}
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "hub"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "hub"},
        "subjects": [account],
    }

    async def allowed(verb: str, resource: str, name: str = "", subresource: str = "") -> bool:
        attributes = {"verb": verb, "resource": resource, "name": name, "subresource": subresource}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        status, answer = await cluster.request("POST", REVIEWS, review, account=Account.HUB)
        assert status == 201
        return bool(answer["status"]["allowed"])

    async def run() -> None:
        assert not await allowed("get", "nodes", "n1")
        await cluster.ask("POST", f"/apis/{group}/v1/clusterroles", {**role, "rules": rules})
        await cluster.ask("POST", f"/apis/{group}/v1/clusterrolebindings", binding)
        async with asyncio.timeout(30):
            # The real server reads its roles by a watch of its own.
            while not await allowed("get", "nodes", "n1"):
                await asyncio.sleep(0.02)
        assert not await allowed("get", "nodes", "n2")
        assert not await allowed("list", "nodes")
        assert await allowed("create", "pods", subresource="eviction")
        assert not await allowed("create", "pods")
        await cluster.ask("POST", NODES, node())
        status, _ = await cluster.request("GET", f"{NODES}/n1", account=Account.HUB)
        assert status == 200

    asyncio.run(run())


def test_nothing_is_served_under_an_unknown_path(cluster: ServedCluster) -> None:
    async def run() -> None:
        for path in ("/api/v1/bogus", f"{NODES}/none", "/apis/apps/v1/bogus"):
            status, refusal = await cluster.request("GET", path)
            assert (status, refusal["reason"]) == (404, "NotFound")

    asyncio.run(run())
