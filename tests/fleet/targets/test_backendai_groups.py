"""The resource group of an agent is a label of its node where the discovery has a key."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from accelwatch.fleet.hub.model import effective
from accelwatch.fleet.hub.reloading import read_again
from accelwatch.fleet.targets.backendai import BackendAiTargets
from accelwatch.fleet.targets.rules import Rules
from accelwatch.fleet.targets.settings import BackendAiSd, BackendAiServer
from accelwatch_lab.cluster.backendai.access import Account
from support.backendai.served import ServedCluster
from support.backendai.stand_in import StandInCluster
from support.fleet.hub_peers import hub
from support.fleet.target_discovery import Finding, finding

NODES = ("i-gpu1", "i-gpu2", "i-gpu3", "i-gpu4")
ALL_DEFAULT = dict.fromkeys(NODES, "default")


def discovery(
    cluster: ServedCluster, account: Account = Account.SUPERADMIN, **changes: Any
) -> BackendAiTargets:
    server = msgspec.convert(cluster.server(account), BackendAiServer)
    settings = BackendAiSd(
        url=cluster.internal_url, agent_port=None, server=server, refresh_s=0.05, **changes
    )
    return BackendAiTargets(settings, Rules())


def groups(found: Finding) -> dict[str, str | None]:
    return {target.node: target.labels.get("resource_group") for target in found.targets}


def test_the_group_of_an_agent_is_a_label_from_the_first_list_on(cluster: ServedCluster) -> None:
    async def main() -> None:
        async with finding(discovery(cluster)) as found:
            await found.turn(1)
            assert groups(found) == ALL_DEFAULT
            await cluster.change_agent("i-gpu2", scaling_group="spare")
            await found.until(lambda: groups(found)["i-gpu2"] == "spare")
            assert groups(found) == ALL_DEFAULT | {"i-gpu2": "spare"}

    asyncio.run(main())


def test_what_the_manager_says_counts_more_than_the_sections_label(
    stand_in: StandInCluster,
) -> None:
    async def main() -> None:
        way = discovery(stand_in, labels={"resource_group": "unknown", "site": "a"})
        async with finding(way) as found:
            await found.turn(1)
            assert groups(found) == ALL_DEFAULT
            assert {target.labels["site"] for target in found.targets} == {"a"}

    asyncio.run(main())


def test_a_key_without_permission_is_reported_and_the_nodes_are_followed(
    stand_in: StandInCluster,
) -> None:
    async def main() -> None:
        way = discovery(stand_in, Account.USER)
        async with finding(way) as found:
            await found.turn(1)
            assert groups(found) == dict.fromkeys(NODES)
            (text,) = way.kept.complaints.values()
            assert "resource groups of the agents cannot be read" in text
            assert stand_in.keys(Account.USER).access_key not in text

    asyncio.run(main())


def test_groups_stay_while_the_api_is_away(stand_in: StandInCluster) -> None:
    async def main() -> None:
        way = discovery(stand_in)
        async with finding(way) as found:
            await found.turn(1)
            stand_in.kill_manager()
            await found.until(lambda: len(way.kept.complaints) == 2)
            assert groups(found) == ALL_DEFAULT
            stand_in.start_manager()
            await found.until(lambda: not way.kept.complaints)
            assert groups(found) == ALL_DEFAULT

    asyncio.run(main())


def test_nodes_of_a_hub_are_found_by_their_group(stand_in: StandInCluster, tmp_path: Path) -> None:
    async def main() -> None:
        await stand_in.change_agent("i-gpu4", scaling_group="spare")
        section = {
            "url": stand_in.internal_url,
            "agent_port": None,
            "refresh_interval": "1s",
            "server": stand_in.server(),
        }
        file = tmp_path / "hub.yaml"
        file.write_bytes(msgspec.yaml.encode({"targets": {"backendai": section}}))
        async with hub() as running:
            await read_again(running.server, lambda: effective(file))
            for name in NODES:
                await running.devices(name, 8)
            answer = await running.get("/v1/groups?by=resource_group")
            by_group = {each["group"]: each["nodes"] for each in answer["groups"]}
            assert by_group == {"default": {"up": 3}, "spare": {"up": 1}}

    asyncio.run(main())
