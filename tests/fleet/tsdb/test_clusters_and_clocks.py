"""Clusters with the same addresses and names in one store, steps between samples, answers in part."""

import asyncio
from typing import Any

import msgspec
import pytest

from accelwatch.fleet.dialects.foreign import ForeignReader
from accelwatch.fleet.tsdb import assembly, follow
from accelwatch.fleet.tsdb.origin import Origin, SeriesResolver
from accelwatch.fleet.tsdb.origin_cache import OriginCache
from accelwatch.fleet.tsdb.settings import Store
from support.fleet.hub_peers import Running
from support.servers.fake_prometheus import FakeStore, fake_store, soon

SAME: dict[str, Any] = {"job": "dcgm", "instance": "10.0.0.5:9400"}


def reading(url: str, **more: Any) -> Store:
    usual = {"interval_s": 0.1, "timeout_s": 2.0, "max_backoff_s": 0.1}
    return Store(url=url, **{**usual, **more})


def two_clusters(store: FakeStore, *nodes: str) -> None:
    """A target at the same address in each; that of b is down after it was there."""
    for cluster, node, uuid in zip("ab", nodes, ("GPU-1", "GPU-2"), strict=True):
        added = {**SAME, "cluster": cluster, "pod": f"dcgm-{cluster}"}
        store.put("up", 1, node=node, **added)
        store.gpu(node=node, UUID=uuid, exported_pod=f"train-{cluster}", **added)


def pods(running: Running) -> dict[str, list[str]]:
    return {
        name: sorted(
            pod for held in node.devices.values() for pod in held.usage.occupancy.names["pod"]
        )
        for name, node in running.hub.fleet.nodes.items()
    }


def down(running: Running) -> list[str]:
    nodes = running.hub.fleet.nodes.items()
    return sorted(name for name, node in nodes if any(one.fault for one in node.sources.values()))


def test_equal_addresses_in_two_clusters_are_two_targets(start_hub: Any) -> None:
    async def main() -> None:
        async with fake_store() as store:
            two_clusters(store, "a1", "b1")
            async with start_hub(prometheus=reading(store.url)) as running:
                await soon(lambda: pods(running) == {"a1": ["train-a"], "b1": ["train-b"]})
                labels = {name: one.labels for name, one in running.hub.fleet.nodes.items()}
                assert labels == {
                    "a1": {"cluster": "a", "pod": "dcgm-a"},
                    "b1": {"cluster": "b", "pod": "dcgm-b"},
                }
                store.samples = [one for one in store.samples if one[0]["cluster"] == "a"]
                store.put("up", 0, node="b1", cluster="b", pod="dcgm-b", **SAME)
                await soon(lambda: down(running) == ["b1"])

    asyncio.run(main())


def test_equal_names_in_two_clusters_are_two_nodes_where_that_is_wanted(start_hub: Any) -> None:
    async def main() -> None:
        async with fake_store() as store:
            two_clusters(store, "n1", "n1")
            wanted = reading(store.url, cluster_in_name=True)
            async with start_hub(prometheus=wanted) as running:
                await soon(lambda: pods(running) == {"a/n1": ["train-a"], "b/n1": ["train-b"]})

    asyncio.run(main())


def test_the_samples_of_a_node_are_queried_by_its_name_in_its_cluster() -> None:
    placing = SeriesResolver(Store(cluster_in_name=True, replica_labels=()))
    located = placing.resolve({"__name__": "x", "node": "n1", "cluster": "a", **SAME})
    assert located.origin == Origin(("dcgm", "10.0.0.5:9400", "a"), "a/n1")
    matchers = placing.matchers(located.origin, located.node_label)
    assert matchers == 'job="dcgm",instance="10.0.0.5:9400",cluster="a",node="n1"'
    without = SeriesResolver(Store(cluster_label="", cluster_in_name=True, replica_labels=()))
    assert without.resolve({"node": "n1", "cluster": "a", **SAME}).origin.node == "n1"


def test_what_up_lacks_in_part_is_still_taken_off(start_hub: Any) -> None:
    """Without `up` the pod of an exporter would be taken for the owner of its devices."""

    async def main() -> None:
        async with fake_store() as store:
            store.put("up", 1, node="n1", pod="dcgm-x", **SAME)
            store.gpu(node="n1", pod="dcgm-x", **SAME)
            async with start_hub(prometheus=reading(store.url)) as running:
                await soon(lambda: "n1" in running.hub.fleet.nodes)
                store.warnings = ["store 10.0.0.9 is not there"]
                store.samples = [one for one in store.samples if one[0]["__name__"] != "up"]
                asked = len(store.requests)
                await soon(lambda: len(store.requests) > asked + 12)
                node = running.hub.fleet.nodes["n1"]
                assert [one.usage.occupancy.names for one in node.devices.values()] == [{}]
                assert node.labels == {"pod": "dcgm-x"}

    asyncio.run(main())


def stepped(*stamps: float) -> float:
    known = OriginCache()
    for stamp in stamps:
        known.aged(stamp)
    return known.interval_s


def test_the_interval_of_a_target_is_the_usual_distance_of_its_samples() -> None:
    assert stepped(0.0) == 0.0
    assert stepped(0, 60, 120, 123, 183, 243) == 60  # a restart moved the moments of its scrapes
    assert stepped(0, 15, 30, 90, 150, 210, 270, 330) == 60  # it is scraped less often now
    assert stepped(0, 15, 45, 60, 75) == 15  # a scrape that failed


def test_a_pause_is_no_interval() -> None:
    """Who was away for hours must not count as up for hours the next time."""
    assert stepped(0, 7200) == 300


def test_what_partial_answers_lack_for_long_is_gone(
    start_hub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store of which a part is away for days: targets whose series change are still reported."""

    async def main() -> None:
        async with fake_store() as store:
            for number in (1, 2):
                store.gpu(node="n1", UUID=f"GPU-{number}", gpu=str(number), **SAME)
            async with start_hub(prometheus=reading(store.url)) as running:
                fleet = running.hub.fleet
                await soon(lambda: "n1" in fleet.nodes and len(fleet.nodes["n1"].devices) == 2)
                store.warnings = ["store 10.0.0.9 is not there"]
                store.samples = [one for one in store.samples if one[0]["UUID"] == "GPU-1"]
                asked = len(store.requests)
                await soon(lambda: len(store.requests) > asked + 12)
                assert len(fleet.nodes["n1"].devices) == 2
                monkeypatch.setattr(assembly, "LOOKBACK_DELTA_S", 0.0)
                await soon(lambda: len(fleet.nodes["n1"].devices) == 1)
                store_note = (await running.get("/v1/fleet"))["store"]
                assert store_note["series"] == 3

    asyncio.run(main())


def test_samples_that_cannot_be_read_cost_no_other_target(
    start_hub: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    read_keys = ForeignReader.read_keys

    def odd(self: ForeignReader, keys: Any, values: Any, now: float) -> Any:
        if any(key.get("UUID") == "GPU-1" for key in keys):
            raise ValueError("odd")
        return read_keys(self, keys, values, now)

    async def main() -> None:
        async with fake_store() as store:
            two_clusters(store, "a1", "b1")
            async with start_hub(prometheus=reading(store.url)) as running:
                await soon(lambda: list(running.hub.fleet.nodes) == ["b1"])
                asked = len(store.requests)
                await soon(lambda: len(store.requests) > asked + 12)

    monkeypatch.setattr(ForeignReader, "read_keys", odd)
    asyncio.run(main())
    assert caplog.text.count("samples cannot be read node=a1") == 1


def test_names_that_change_all_the_time_are_bounded(
    start_hub: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with fake_store() as store:
            for number in range(5):
                store.gpu(node=f"n{number}", UUID=f"GPU-{number}", **SAME)
            async with start_hub(prometheus=reading(store.url)) as running:
                await soon(lambda: running.hub.peers.ready)
                assert running.hub.peers.store.note.targets == 3
                assert len(running.hub.fleet.nodes) == 3
                asked = len(store.requests)
                await soon(lambda: len(store.requests) > asked + 12)

    monkeypatch.setattr(follow, "MAX_NODES", 3)
    asyncio.run(main())
    assert caplog.text.count("more than 3 targets") == 1


def test_what_is_known_outlives_a_reload_until_the_store_answers(start_hub: Any) -> None:
    async def main() -> None:
        async with fake_store() as store, fake_store() as other:
            store.gpu(node="n1", **SAME)
            other.gpu(node="m1", **SAME)
            async with start_hub(prometheus=reading(store.url)) as running:
                hub = running.hub
                await soon(lambda: "n1" in hub.fleet.nodes)
                for now in (reading(store.url, timeout_s=3.0), reading(other.url)):
                    await hub.reload(msgspec.structs.replace(hub.settings, prometheus=now))
                    assert len(hub.fleet.nodes["n1"].sources) == 1
                await soon(lambda: "m1" in hub.fleet.nodes)
                assert hub.fleet.nodes["n1"].unlisted
                await hub.reload(msgspec.structs.replace(hub.settings, prometheus=Store()))
                assert hub.fleet.nodes["m1"].unlisted

    asyncio.run(main())
