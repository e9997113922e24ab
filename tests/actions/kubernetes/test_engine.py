"""The whole engine over nodes of a cluster: from a bad reading to the taint, and back again."""

import asyncio
from pathlib import Path

from accelwatch.remediation.policy.state.stage import Stage
from accelwatch_kubernetes.marks.hold import HOLD
from support.kubernetes.action_on_cluster import (
    NODES,
    change_node,
    make_node,
    node_of,
    what_counts,
)
from support.kubernetes.hub_on_cluster import (
    BAD_W,
    WELL_W,
    hub_on,
    is_clean,
    is_tainted,
    stage,
    until,
)
from support.kubernetes.served import ServedCluster
from support.kubernetes.stand_in import StandInCluster


def test_a_fault_taints_its_node_and_its_end_releases_it(
    cluster: ServedCluster, tmp_path: Path
) -> None:
    async def run() -> None:
        before = await make_node(cluster)
        async with hub_on(cluster, tmp_path) as (site, remedies):
            site.watts = BAD_W
            document = await until(cluster, is_tainted)
            assert not document["spec"].get("unschedulable")
            await stage(remedies, Stage.QUARANTINED)
            site.watts = WELL_W
            await until(cluster, is_clean)
            await stage(remedies, None)
            assert remedies.problems == ()
        assert what_counts(await node_of(cluster)) == what_counts(before)

    asyncio.run(run())


def test_a_hub_that_starts_anew_releases_what_it_held(
    cluster: ServedCluster, tmp_path: Path
) -> None:
    async def run() -> None:
        await make_node(cluster)
        async with hub_on(cluster, tmp_path) as (site, _):
            site.watts = BAD_W
            await until(cluster, is_tainted)
        async with hub_on(cluster, tmp_path) as (_, remedies):
            await until(cluster, is_clean)
            await stage(remedies, None)

    asyncio.run(run())


def test_trap_08_a_fault_that_comes_back_right_after_its_end_takes_the_node_out_again(
    cluster: ServedCluster, tmp_path: Path
) -> None:
    """It is not stranded between the end of one remedy and the next."""

    async def run() -> None:
        await make_node(cluster)
        async with hub_on(cluster, tmp_path, spacing_s=0.0) as (site, remedies):
            site.watts = BAD_W
            first = await until(cluster, is_tainted)
            site.watts = WELL_W
            await until(cluster, is_clean)
            site.watts = BAD_W
            again = await until(cluster, is_tainted)
            await stage(remedies, Stage.QUARANTINED)
        holds = [document["metadata"]["annotations"][HOLD] for document in (first, again)]
        assert holds[0] != holds[1]

    asyncio.run(run())


def test_trap_03_a_taint_that_a_person_removes_is_not_set_again(
    cluster: ServedCluster, tmp_path: Path
) -> None:
    async def run() -> None:
        await make_node(cluster)
        async with hub_on(cluster, tmp_path) as (site, remedies):
            site.watts = BAD_W
            await until(cluster, is_tainted)
            await stage(remedies, Stage.QUARANTINED)
            await change_node(cluster, "n1", {"spec": {"taints": None}})
            await stage(remedies, Stage.OVERRIDDEN)
            assert not is_tainted(await node_of(cluster))

    asyncio.run(run())


def test_trap_03_an_uncordon_ends_it_and_our_taint_goes_with_it(
    cluster: ServedCluster, tmp_path: Path
) -> None:
    async def run() -> None:
        await make_node(cluster)
        async with hub_on(cluster, tmp_path, cordon=True) as (site, remedies):
            site.watts = BAD_W
            document = await until(cluster, is_tainted)
            assert document["spec"]["unschedulable"] is True
            await stage(remedies, Stage.QUARANTINED)
            await change_node(cluster, "n1", {"spec": {"unschedulable": None}})
            await until(cluster, is_clean)
            await stage(remedies, Stage.OVERRIDDEN)
            assert is_clean(await node_of(cluster))

    asyncio.run(run())


def test_trap_24_a_node_made_again_is_taken_out_again_while_it_is_bad(
    cluster: ServedCluster, tmp_path: Path
) -> None:
    async def run() -> None:
        first = await make_node(cluster)
        async with hub_on(cluster, tmp_path) as (site, remedies):
            site.watts = BAD_W
            await until(cluster, is_tainted)
            await stage(remedies, Stage.QUARANTINED)
            await cluster.ask("DELETE", f"{NODES}/n1")
            await make_node(cluster)
            document = await until(cluster, is_tainted)
            assert document["metadata"]["uid"] != first["metadata"]["uid"]
            await stage(remedies, Stage.QUARANTINED)
            site.watts = WELL_W
            await until(cluster, is_clean)

    asyncio.run(run())


def test_a_cordon_of_a_person_stays_and_the_node_is_left_alone(
    cluster: ServedCluster, tmp_path: Path
) -> None:
    async def run() -> None:
        await make_node(cluster, unschedulable=True)
        async with hub_on(cluster, tmp_path) as (site, remedies):
            site.watts = BAD_W
            await stage(remedies, Stage.OWNED_BY_OTHER)
            assert is_clean(await node_of(cluster))
            site.watts = WELL_W
            await stage(remedies, None)
        assert (await node_of(cluster))["spec"]["unschedulable"] is True

    asyncio.run(run())


def test_a_fault_while_the_server_is_away_is_acted_upon_when_it_is_back(
    stand_in: StandInCluster, tmp_path: Path
) -> None:
    async def run() -> None:
        await make_node(stand_in)
        async with hub_on(stand_in, tmp_path) as (site, remedies):
            stand_in.kill_api_server()
            site.watts = BAD_W
            await stage(remedies, Stage.SUSPECT)
            await asyncio.sleep(1.0)
            stand_in.start_api_server()
            await until(stand_in, is_tainted)

    asyncio.run(run())


def test_trap_04_a_fault_that_is_over_before_the_server_is_back_taints_nothing(
    stand_in: StandInCluster, tmp_path: Path
) -> None:
    async def run() -> None:
        await make_node(stand_in)
        async with hub_on(stand_in, tmp_path) as (site, remedies):
            stand_in.kill_api_server()
            site.watts = BAD_W
            await stage(remedies, Stage.SUSPECT)
            site.watts = WELL_W
            await stage(remedies, None)
            stand_in.start_api_server()
            stand_in.server.log.clear()
            async with asyncio.timeout(60):
                while not stand_in.server.log.entries:
                    await asyncio.sleep(0.1)
            await asyncio.sleep(2.0)
            assert stand_in.server.log.writes("/nodes/") == []

    asyncio.run(run())
