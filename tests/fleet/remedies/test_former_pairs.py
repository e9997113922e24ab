"""A pair that is taken out of the configuration while nodes are out."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.action.intent import OwnerAnnotation
from accelwatch.fleet.remedies.former_pairs import former_pairs
from accelwatch.remediation.policy.state.model import Clocks, NodeQuarantine, Remedy
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.settings import ActionSettings
from fleet.remedies.hub_site import HubSite, until
from remediation.fake_scheduler import FakeScheduler
from support.kubernetes.action_on_cluster import make_node, node_of
from support.kubernetes.hub_on_cluster import BAD_W, is_clean, is_tainted, settings_of
from support.kubernetes.hub_on_cluster import until as until_node
from support.kubernetes.stand_in import stand_in_cluster

FIRST = ActionSettings(name="slurm", type="slurm", also="cluster")
SECOND = ActionSettings(name="cluster", type="kubernetes")


def held(node: str, **original: str) -> Remedy:
    mark = OwnerAnnotation("inc-1", 3)
    hold = NodeQuarantine(node=node, mark=mark, original=original)
    return Remedy(
        node=node, stage=Stage.QUARANTINED, clocks=Clocks(since=0.0, begun=0.0), hold=hold
    )


def test_nodes_that_the_second_holds_are_named_with_what_to_do() -> None:
    remedies = [held("n2", **{"cluster/uid": "u"}), held("n1", **{"cluster/uid": "u"}), held("n3")]
    without = [msgspec.structs.replace(FIRST, also=""), SECOND]
    (text,) = former_pairs(remedies, without)
    assert text.startswith("n1, n2: held in cluster as well")
    assert "write also: cluster again" in text


@pytest.mark.parametrize("original", [{"cluster/uid": "u"}, {"uid": "u"}, {}])
def test_while_there_is_a_pair_nothing_is_logged(original: dict[str, str]) -> None:
    assert list(former_pairs([held("n1", **original)], [FIRST, SECOND])) == []


def test_a_node_that_is_not_held_says_nothing() -> None:
    remedy = msgspec.structs.replace(held("n1"), hold=None)
    assert list(former_pairs([remedy], [])) == []


def test_many_nodes_are_not_all_named() -> None:
    remedies = [held(f"n{number:02}", **{"cluster/uid": "u"}) for number in range(12)]
    (text,) = former_pairs(remedies, [])
    assert "n09 and 2 more: held in cluster" in text


def test_a_hub_says_so_until_the_pair_is_back_and_then_cleans_up(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    async def run(cluster: Any) -> None:
        await make_node(cluster)
        site = HubSite(tmp_path / "hub")
        fake_plugin.append(site.world)
        second = await settings_of(cluster, "cluster")
        first = ActionSettings(name="slurm", type="fake", also="cluster")
        pair = msgspec.structs.replace(site.settings, actions=(first, second))
        alone = (msgspec.structs.replace(first, also=""),)
        site.settings, site.watts = pair, BAD_W
        async with site.running() as (_, remedies):
            await until_node(cluster, is_tainted)
            await until(lambda: remedies.engine.state.remedies["a"].stage is Stage.QUARANTINED)
            assert remedies.problems == ()
        site.settings = msgspec.structs.replace(pair, actions=alone)
        async with site.running() as (_, remedies):
            await until(lambda: any("also: cluster again" in text for text in remedies.problems))
            assert is_tainted(await node_of(cluster))
        site.settings, site.watts = pair, 400.0
        async with site.running() as (_, remedies):
            await until_node(cluster, is_clean)
            await until(lambda: "a" not in remedies.engine.state.remedies)
            assert remedies.problems == ()

    (tmp_path / "hub").mkdir()
    with stand_in_cluster(tmp_path / "served") as cluster:
        asyncio.run(run(cluster))
