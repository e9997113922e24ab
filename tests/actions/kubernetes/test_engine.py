"""The whole engine over nodes of a cluster: from a bad reading to the taint, and back again."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from accelwatch.fleet.remedies.runner import RemedyRunner
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.settings import ActionSettings
from accelwatch_kubernetes.marks.hold import HOLD
from accelwatch_lab.cluster.kubernetes.access import Account
from fleet.remedies.hub_site import HubSite
from support.kubernetes.action_on_cluster import (
    NODES,
    Object,
    change_node,
    make_node,
    node_of,
    what_counts,
)
from support.kubernetes.hub_account import allow_actions
from support.kubernetes.served import ServedCluster
from support.kubernetes.stand_in import StandInCluster

OURS = "accelwatch.io/quarantine"
BAD_W, WELL_W = 100.0, 400.0


@asynccontextmanager
async def hub_on(
    cluster: ServedCluster, folder: Path, *, spacing_s: float = 120.0, **options: Any
) -> AsyncIterator[tuple[HubSite, RemedyRunner]]:
    """A hub whose node `a` is `n1` in the cluster; `spacing_s` between two quarantines."""
    await allow_actions(cluster)
    access = cluster.access(Account.HUB)
    server = {
        "api_server": access.url,
        "ca_file": str(access.ca_file),
        "token_file": str(cluster.token_file(Account.HUB)),
    }
    site = HubSite(folder)
    action = ActionSettings(type="kubernetes", options={"server": server, **options})
    budget = msgspec.structs.replace(site.settings.budget, spacing_s=spacing_s)
    site.settings = msgspec.structs.replace(site.settings, actions=(action,), budget=budget)
    async with site.running() as (_, remedies):
        yield site, remedies


def is_tainted(document: Object) -> bool:
    """Whether our mark is whole."""
    keys = [taint["key"] for taint in document["spec"].get("taints", [])]
    return OURS in keys and HOLD in document["metadata"].get("annotations", {})


def is_clean(document: Object) -> bool:
    """Whether nothing of our mark is there."""
    keys = [taint["key"] for taint in document["spec"].get("taints", [])]
    return OURS not in keys and HOLD not in document["metadata"].get("annotations", {})


async def until(cluster: ServedCluster, is_so: Callable[[Object], bool]) -> Object:
    """The node once it is so."""
    async with asyncio.timeout(60):
        while not is_so(document := await node_of(cluster)):
            await asyncio.sleep(0.05)
    return document


async def stage(remedies: RemedyRunner, expected: Stage | None) -> None:
    """Until the engine has come to it; None: it knows nothing of the node any more."""
    async with asyncio.timeout(60):
        while True:
            remedy = remedies.engine.state.remedies.get("a")
            if (None if remedy is None else remedy.stage) is expected:
                return
            await asyncio.sleep(0.05)


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
