"""The whole engine over agents of a manager: from a bad reading to an unschedulable agent, and back."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from accelwatch.action.observed import HoldState
from accelwatch.fleet.remedies.runner import RemedyRunner
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.settings import ActionSettings
from fleet.remedies.hub_site import HubSite
from support.backendai.served import Row, ServedCluster
from support.backendai.stand_in import StandInCluster

AGENT = "i-gpu1"
BAD_W, WELL_W = 100.0, 400.0


@asynccontextmanager
async def hub_on(
    cluster: ServedCluster, folder: Path, *, spacing_s: float = 120.0, **options: Any
) -> AsyncIterator[tuple[HubSite, RemedyRunner]]:
    """A hub whose node `a` has the agent i-gpu1; `spacing_s` between two quarantines."""
    site = HubSite(folder)
    action = ActionSettings(type="backendai", options={"server": cluster.server(), **options})
    budget = msgspec.structs.replace(site.settings.budget, spacing_s=spacing_s)
    site.settings = msgspec.structs.replace(
        site.settings, actions=(action,), budget=budget, nodes={"a": AGENT}
    )
    async with site.running() as (_, remedies):
        yield site, remedies


def is_out(row: Row) -> bool:
    return not row["schedulable"]


def takes_work(row: Row) -> bool:
    return bool(row["schedulable"])


async def agent_of(cluster: ServedCluster) -> Row:
    return (await cluster.agents())[AGENT]


async def until(cluster: ServedCluster, is_so: Callable[[Row], bool]) -> Row:
    """The agent once it is so."""
    async with asyncio.timeout(60):
        while not is_so(row := await agent_of(cluster)):
            await asyncio.sleep(0.05)
    return row


async def stage(remedies: RemedyRunner, expected: Stage | None) -> None:
    """Until the engine has come to it; None: it knows nothing of the node any more."""
    async with asyncio.timeout(60):
        while True:
            remedy = remedies.engine.state.remedies.get("a")
            if (None if remedy is None else remedy.stage) is expected:
                return
            await asyncio.sleep(0.05)


async def shown(remedies: RemedyRunner, expected: HoldState) -> None:
    """Until a poll has shown whose the agent is."""
    async with asyncio.timeout(60):
        while True:
            node = remedies.engine.state.world.scheduler_nodes.get(AGENT)
            if node is not None and node.hold_state is expected:
                return
            await asyncio.sleep(0.05)


def test_a_fault_makes_its_agent_unschedulable_and_its_end_gives_it_back(
    cluster: ServedCluster, tmp_path: Path
) -> None:
    async def run() -> None:
        before = await agent_of(cluster)
        async with hub_on(cluster, tmp_path) as (site, remedies):
            site.watts = BAD_W
            await until(cluster, is_out)
            await stage(remedies, Stage.QUARANTINED)
            site.watts = WELL_W
            await until(cluster, takes_work)
            await stage(remedies, None)
            assert remedies.problems == ()
        assert await agent_of(cluster) == before

    asyncio.run(run())


def test_a_hub_that_starts_anew_gives_back_what_it_held(
    cluster: ServedCluster, tmp_path: Path
) -> None:
    """By its journal alone: the agent's row does not say who made it unschedulable."""

    async def run() -> None:
        async with hub_on(cluster, tmp_path) as (site, _):
            site.watts = BAD_W
            await until(cluster, is_out)
        async with hub_on(cluster, tmp_path) as (_, remedies):
            await until(cluster, takes_work)
            await stage(remedies, None)

    asyncio.run(run())


def test_another_hub_leaves_what_the_first_one_holds(
    cluster: ServedCluster, tmp_path: Path
) -> None:
    """So does a hub whose journal is lost."""

    async def run() -> None:
        for name in ("first", "second"):
            (tmp_path / name).mkdir()
        async with hub_on(cluster, tmp_path / "first") as (site, remedies):
            site.watts = BAD_W
            await stage(remedies, Stage.QUARANTINED)
        async with hub_on(cluster, tmp_path / "second") as (site, remedies):
            site.watts = BAD_W
            await stage(remedies, Stage.OWNED_BY_OTHER)
            site.watts = WELL_W
            await stage(remedies, None)
        assert is_out(await agent_of(cluster))

    asyncio.run(run())


def test_an_agent_that_a_person_gives_back_is_not_taken_out_again(
    cluster: ServedCluster, tmp_path: Path
) -> None:
    async def run() -> None:
        async with hub_on(cluster, tmp_path) as (site, remedies):
            site.watts = BAD_W
            await stage(remedies, Stage.QUARANTINED)
            await cluster.change_agent(AGENT, schedulable=True)
            await stage(remedies, Stage.OVERRIDDEN)
            assert takes_work(await agent_of(cluster))
            # And what the same person then takes out is not ours, whatever was ours before.
            await cluster.change_agent(AGENT, schedulable=False)
            site.watts = WELL_W
            await shown(remedies, HoldState.FOREIGN)
        async with hub_on(cluster, tmp_path) as (_, remedies):
            await shown(remedies, HoldState.FOREIGN)
        assert is_out(await agent_of(cluster))

    asyncio.run(run())


def test_an_agent_that_a_person_has_taken_out_is_left_alone(
    cluster: ServedCluster, tmp_path: Path
) -> None:
    async def run() -> None:
        await cluster.change_agent(AGENT, schedulable=False)
        async with hub_on(cluster, tmp_path) as (site, remedies):
            site.watts = BAD_W
            await stage(remedies, Stage.OWNED_BY_OTHER)
            site.watts = WELL_W
            await stage(remedies, None)
        assert is_out(await agent_of(cluster))

    asyncio.run(run())


def test_a_fault_that_comes_back_right_after_its_end_takes_the_agent_out_again(
    cluster: ServedCluster, tmp_path: Path
) -> None:
    async def run() -> None:
        async with hub_on(cluster, tmp_path, spacing_s=0.0) as (site, remedies):
            site.watts = BAD_W
            await until(cluster, is_out)
            site.watts = WELL_W
            await until(cluster, takes_work)
            site.watts = BAD_W
            await until(cluster, is_out)
            await stage(remedies, Stage.QUARANTINED)

    asyncio.run(run())


def test_an_agent_that_is_lost_is_taken_out_and_given_back(
    cluster: ServedCluster, tmp_path: Path
) -> None:
    async def run() -> None:
        cluster.kill_agent(AGENT)
        await cluster.until_lost(AGENT)
        async with hub_on(cluster, tmp_path) as (site, remedies):
            site.watts = BAD_W
            row = await until(cluster, is_out)
            assert row["status"] == "LOST"
            cluster.start_agent(AGENT)
            await cluster.until_status(AGENT, "ALIVE")
            assert is_out(await agent_of(cluster)), "also while it is there again"
            site.watts = WELL_W
            await until(cluster, takes_work)
            await stage(remedies, None)

    asyncio.run(run())


def test_a_fault_while_the_manager_is_away_is_acted_upon_when_it_is_back(
    stand_in: StandInCluster, tmp_path: Path
) -> None:
    async def run() -> None:
        async with hub_on(stand_in, tmp_path) as (site, remedies):
            stand_in.kill_manager()
            site.watts = BAD_W
            await stage(remedies, Stage.SUSPECT)
            await asyncio.sleep(1.0)
            stand_in.start_manager()
            await until(stand_in, is_out)
            await stage(remedies, Stage.QUARANTINED)

    asyncio.run(run())
