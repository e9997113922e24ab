"""All nodes and the pods on them, over HTTP: what changes, what is read beside it, what is believed."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.observed import HoldState
from accelwatch.api_client.kubernetes.client import KubernetesClient
from accelwatch.api_client.kubernetes.server import Server
from accelwatch_kubernetes.cache import cluster_cache, freshness
from accelwatch_kubernetes.cache.cluster_cache import ClusterCache
from accelwatch_kubernetes.marks.hold import HOLD
from accelwatch_kubernetes.objects.node import Node
from accelwatch_kubernetes.settings.options import KubernetesOptions
from support.servers.fake_kubernetes import Cluster, node, pod, served
from support.servers.unreadable_json import DEEP


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_cache, "_MAX_BACKOFF_S", 0.02)


@asynccontextmanager
async def following(cluster: Cluster, folder: Path) -> AsyncIterator[ClusterCache]:
    token = folder / "token"
    token.write_text("first")
    async with served(cluster, None) as port:
        client = KubernetesClient(Server(base=f"http://127.0.0.1:{port}", token_file=str(token)))
        cache = ClusterCache(client, KubernetesOptions())
        try:
            yield cache
        finally:
            await client.close()
            await cache.close()


async def _until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(20):
        while not await condition():
            await asyncio.sleep(0.01)


async def _states(cache: ClusterCache) -> dict[str, HoldState]:
    return {entry.name: entry.hold_state for entry in await cache.nodes()}


async def _pods(cache: ClusterCache, name: str) -> list[str]:
    return sorted(row.metadata.name for row in await cache.pods_on(name))


def _tainted(name: str, uid: str = "u") -> dict[str, Any]:
    whole = node(name)
    whole["metadata"]["uid"] = uid
    whole["spec"]["taints"] = [{"key": "accelwatch.io/quarantine", "effect": "NoSchedule"}]
    return whole


def _node(whole: dict[str, Any], version: int) -> Node:
    metadata = {**whole["metadata"], "resourceVersion": str(version)}
    return msgspec.convert({**whole, "metadata": metadata}, Node)


def test_nodes_come_change_and_go(tmp_path: Path) -> None:
    async def main() -> None:
        cluster = Cluster()
        await cluster.put("nodes", node("n1"), node("n2"))
        async with following(cluster, tmp_path) as cache:
            assert await _states(cache) == {"n1": HoldState.OPEN, "n2": HoldState.OPEN}
            await cluster.put("nodes", _tainted("n1", ""))
            await cluster.delete("nodes", "n2", "")

            async def changed() -> bool:
                return await _states(cache) == {"n1": HoldState.FOREIGN}

            await _until(changed)

    asyncio.run(main())


def test_an_annotation_nested_without_end_hides_no_node(tmp_path: Path) -> None:
    """A kubelet may annotate its own node; what it writes there must not end the copy of all."""

    async def main() -> None:
        cluster = Cluster()
        odd = node("n1")
        odd["metadata"]["annotations"] = {HOLD: DEEP.decode()}
        await cluster.put("nodes", odd, node("n2"))
        async with following(cluster, tmp_path) as cache:
            assert await _states(cache) == {"n1": HoldState.OPEN, "n2": HoldState.OPEN}

    asyncio.run(main())


def test_pods_are_known_by_their_node(tmp_path: Path) -> None:
    async def main() -> None:
        cluster = Cluster()
        await cluster.put(
            "pods", pod("a1", "10.0.0.1", "n1"), pod("a2", "", "n1"), pod("b1", "", "n2")
        )
        async with following(cluster, tmp_path) as cache:
            assert await _pods(cache, "n1") == ["a1", "a2"]
            assert await _pods(cache, "n3") == []
            (row,) = await cache.pods_on("n2")
            assert (row.path, row.status.phase) == ("monitoring/b1", "Pending")
            assert not row.is_terminating
            assert all("status.phase" in path for path in cluster.lists if "/pods" in path)
            # A namesake elsewhere, as a StatefulSet makes it.
            moved = pod("b1", "10.0.0.7", "n1")
            moved["metadata"]["uid"] = "other"
            await cluster.delete("pods", "b1")
            await cluster.put("pods", moved)
            ending = pod("a1", "10.0.0.1", "n1")
            ending["metadata"]["deletionTimestamp"] = "2026-11-28T00:00:00Z"
            await cluster.put("pods", ending)

            async def changed() -> bool:
                rows = {entry.metadata.name: entry for entry in await cache.pods_on("n1")}
                return sorted(rows) == ["a1", "a2", "b1"] and rows["a1"].is_terminating

            await _until(changed)
            assert set(await cache.pods_by_node()) == {"n1"}

    asyncio.run(main())


def test_the_controller_of_a_pod_is_kept(tmp_path: Path) -> None:
    async def main() -> None:
        cluster = Cluster()
        owned = pod("a1", "10.0.0.1", "n1")
        job = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "j1"}
        other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "c1"}
        owned["metadata"]["ownerReferences"] = [other, {**job, "controller": True}]
        free = pod("a2", "10.0.0.2", "n2")
        free["metadata"]["ownerReferences"] = [other]
        await cluster.put("pods", owned, free)
        async with following(cluster, tmp_path) as cache:
            (row,) = await cache.pods_on("n1")
            owner = row.controller
            assert owner is not None
            expected = ("batch/v1", "Job", "train", "j1")
            assert (owner.api_version, owner.kind, owner.name, owner.uid) == expected
            (row,) = await cache.pods_on("n2")
            assert row.controller is None

    asyncio.run(main())


def test_what_may_not_be_read_is_no_empty_cluster(tmp_path: Path) -> None:
    async def main() -> None:
        cluster = Cluster()
        cluster.fault = 403
        async with following(cluster, tmp_path) as cache:
            with pytest.raises(ActionUnavailableError, match="not all read yet.*403"):
                await cache.nodes()
            cluster.fault = 0
            await cluster.put("nodes", node("n1"))

            async def read() -> bool:
                try:
                    return await _states(cache) == {"n1": HoldState.OPEN}
                except ActionUnavailableError:
                    return False

            await _until(read)

    asyncio.run(main())


@pytest.mark.parametrize("forbidden", ["nodes", "pods"])
def test_one_of_both_that_may_not_be_read_is_enough(tmp_path: Path, forbidden: str) -> None:
    class Half(Cluster):
        async def handle(self, request: Any) -> Any:
            self.fault = 403 if request.path.endswith(forbidden) else 0
            return await super().handle(request)

    async def main() -> None:
        async with following(Half(), tmp_path) as cache:
            for question in (cache.nodes, cache.pods_by_node, lambda: cache.pods_on("n1")):
                with pytest.raises(ActionUnavailableError, match=f"the {forbidden} are not"):
                    await question()

    asyncio.run(main())


def test_a_watch_that_stays_broken_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freshness, "_BROKEN_S", 0.05)

    async def main() -> None:
        cluster = Cluster()
        await cluster.put("nodes", node("n1"))
        async with following(cluster, tmp_path) as cache:
            assert await _states(cache) == {"n1": HoldState.OPEN}
            cluster.fault = 503
            await cluster.cut()

            async def refused() -> bool:
                try:
                    await cache.nodes()
                except ActionUnavailableError as error:
                    return "503" in str(error)
                return False

            await _until(refused)
            cluster.fault = 0

            async def believed() -> bool:
                return not await refused()

            await _until(believed)

    asyncio.run(main())


def test_what_was_read_beside_it_is_not_replaced_by_what_was_before(tmp_path: Path) -> None:
    async def main() -> None:
        cluster = Cluster()
        await cluster.put("nodes", {**node("n1"), "metadata": {"name": "n1", "uid": "u"}})
        await cluster.put("nodes", node("n2"))
        async with following(cluster, tmp_path) as cache:
            await cache.nodes()
            cache.put_node(_node(_tainted("n1"), 5000))
            assert (await _states(cache))["n1"] is HoldState.FOREIGN
            # The watch is late: an event from before what was read.
            late = node("n1")
            late["metadata"]["uid"] = "u"
            late["metadata"]["labels"]["late"] = "true"
            await cluster.put("nodes", late, _tainted("n2", ""))

            async def followed() -> bool:
                return (await _states(cache))["n2"] is HoldState.FOREIGN

            await _until(followed)
            assert (await _states(cache))["n1"] is HoldState.FOREIGN
            # A node that is made again under its name begins with any version.
            fresh = node("n1")
            fresh["metadata"]["uid"] = "another"
            await cluster.put("nodes", fresh)

            async def replaced() -> bool:
                return (await _states(cache))["n1"] is HoldState.OPEN

            await _until(replaced)
            cache.put_node(_node(_tainted("n1", "another"), 1))
            assert (await _states(cache))["n1"] is HoldState.OPEN

    asyncio.run(main())


def test_an_answer_that_comes_late_brings_no_deleted_node_back(tmp_path: Path) -> None:
    async def main() -> None:
        cluster = Cluster()
        first = {**node("n1"), "metadata": {"name": "n1", "uid": "u"}}
        await cluster.put("nodes", first, node("n2"))
        async with following(cluster, tmp_path) as cache:
            await cache.nodes()
            await cluster.delete("nodes", "n1", "")

            async def deleted() -> bool:
                return "n1" not in await _states(cache)

            await _until(deleted)
            cache.put_node(_node(_tainted("n1"), 5000))
            assert await _states(cache) == {"n2": HoldState.OPEN}
            await cluster.put("nodes", {**first, "metadata": {"name": "n1", "uid": "another"}})

            async def made_again() -> bool:
                return "n1" in await _states(cache)

            await _until(made_again)
            cache.put_node(_node(_tainted("n1"), 5000))
            assert await _states(cache) == {"n1": HoldState.OPEN, "n2": HoldState.OPEN}

    asyncio.run(main())


def test_what_is_read_before_the_first_list_makes_no_cluster_of_one_node(tmp_path: Path) -> None:
    async def main() -> None:
        cluster = Cluster()
        await cluster.put("nodes", node("n1"), node("n2"))
        async with following(cluster, tmp_path) as cache:
            cache.put_node(_node(_tainted("n3"), 5000))
            assert await _states(cache) == {"n1": HoldState.OPEN, "n2": HoldState.OPEN}

    asyncio.run(main())


def test_a_copy_that_has_stopped_is_restarted(tmp_path: Path) -> None:
    async def main() -> None:
        cluster = Cluster()
        await cluster.put("nodes", node("n1"))
        async with following(cluster, tmp_path) as cache:
            await cache.nodes()
            await cache.close()
            await cluster.put("nodes", node("n2"))

            async def followed() -> bool:
                return set(await _states(cache)) == {"n1", "n2"}

            await _until(followed)

    asyncio.run(main())
