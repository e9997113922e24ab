"""Slurm and a cluster over the same node: one incident, both marks in step, each read back.

Slurm is a scheduler in memory; the cluster is served.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch.action.step import RefusalKind, Step
from accelwatch.base.clock import SystemClock
from accelwatch.remediation.pairing.paired_action import PairedAction
from accelwatch.remediation.policy.state.pursued import PursuitResult
from remediation.fake_scheduler import FakeAction, FakeScheduler
from support.kubernetes.action_on_cluster import (
    NODES,
    Pursuits,
    action_on,
    change_node,
    intent,
    make_node,
    node_of,
    what_counts,
)
from support.kubernetes.nodes import GPU
from support.kubernetes.served import ServedCluster

QUARANTINE, RELEASE = IntentKind.QUARANTINE, IntentKind.RELEASE
OURS = "accelwatch.io/quarantine"


class Pair:
    """Both, and the pursuits of an engine over them."""

    def __init__(self, cluster: ServedCluster, slurm: FakeAction, action: PairedAction) -> None:
        self.cluster, self.slurm, self.action = cluster, slurm, action
        self.pursuits = Pursuits(action)

    async def marks(self) -> tuple[bool, bool]:
        """Whether Slurm and the cluster show our hold of n1."""
        taints = (await node_of(self.cluster))["spec"].get("taints", [])
        tainted = any(taint["key"] == OURS for taint in taints)
        return self.slurm.world.nodes["n1"].mark is not None, tainted

    async def node(self) -> NodeObservation:
        (node,) = [node for node in await self.action.observe_all() if node.name == "n1"]
        return node

    async def undone_node(self) -> NodeObservation:
        """It, once it is shown that somebody has undone our hold: a watch comes after the write."""
        async with asyncio.timeout(20):
            while not (node := await self.node()).undone:
                await asyncio.sleep(0.02)
        return node


@asynccontextmanager
async def pair_over(cluster: ServedCluster) -> AsyncIterator[Pair]:
    """n1 in both, with a taint of the site's own in the cluster."""
    await make_node(cluster, taints=[GPU])
    slurm = FakeAction(FakeScheduler(SystemClock(), ["n1", "n2"]))
    async with action_on(cluster) as action:
        yield Pair(cluster, slurm, PairedAction(("slurm", slurm), ("cluster", action)))


def test_both_marks_are_set_and_removed_and_what_was_there_stays(cluster: ServedCluster) -> None:
    async def run() -> None:
        async with pair_over(cluster) as pair:
            before = what_counts(await node_of(cluster))
            held = await pair.pursuits.pursue(intent(QUARANTINE))
            assert held.result is PursuitResult.ACHIEVED
            assert await pair.marks() == (True, True)
            assert pair.pursuits.done(held.intent) == ["drain", "cluster/taint"]
            released = intent(RELEASE, original=dict(held.original))
            assert (await pair.pursuits.pursue(released)).result is PursuitResult.ACHIEVED
            assert await pair.marks() == (False, False)
            assert what_counts(await node_of(cluster)) == before

    asyncio.run(run())


def test_an_engine_that_ends_between_the_marks_sets_the_second(cluster: ServedCluster) -> None:
    class KilledError(BaseException):
        pass

    def kill(_: Step) -> None:
        raise KilledError

    async def run() -> None:
        async with pair_over(cluster) as pair:
            wanted = intent(QUARANTINE)
            pair.slurm.after_effect = kill
            with pytest.raises(KilledError):
                await pair.pursuits.pursue(wanted)
            assert await pair.marks() == (True, False)
            pair.slurm.after_effect = lambda _: None
            pair.pursuits = Pursuits(pair.action, pair.pursuits.journal)
            assert (await pair.pursuits.pursue(wanted)).result is PursuitResult.ACHIEVED
            assert await pair.marks() == (True, True)
            assert pair.slurm.world.count("drain", "n1") == 1

    asyncio.run(run())


def test_a_node_that_a_person_has_cordoned_is_marked_in_neither(cluster: ServedCluster) -> None:
    async def run() -> None:
        async with pair_over(cluster) as pair:
            await change_node(cluster, "n1", {"spec": {"unschedulable": True}})
            end = await pair.pursuits.pursue(intent(QUARANTINE))
            assert (end.result, end.refusal) == (PursuitResult.REFUSED, RefusalKind.FOREIGN)
            assert await pair.marks() == (False, False)

    asyncio.run(run())


def test_a_person_who_removes_the_taint_has_undone_the_hold(cluster: ServedCluster) -> None:
    async def run() -> None:
        async with pair_over(cluster) as pair:
            held = await pair.pursuits.pursue(intent(QUARANTINE))
            spec = (await node_of(cluster))["spec"]
            left = [taint for taint in spec["taints"] if taint["key"] != OURS]
            await change_node(cluster, "n1", {"spec": {"taints": left}})
            shown = await pair.undone_node()
            assert shown.hold_state is HoldState.OURS
            wanted = intent(RELEASE, original=dict(held.original))
            assert (await pair.pursuits.pursue(wanted)).result is PursuitResult.ACHIEVED
            assert await pair.marks() == (False, False)
            annotations = (await node_of(cluster))["metadata"].get("annotations", {})
            assert not [name for name in annotations if name.startswith("accelwatch.io/")]

    asyncio.run(run())


def test_a_node_that_is_deleted_from_the_cluster_is_slurms_alone(cluster: ServedCluster) -> None:
    async def run() -> None:
        async with pair_over(cluster) as pair:
            held = await pair.pursuits.pursue(intent(QUARANTINE))
            await cluster.ask("DELETE", f"{NODES}/n1")
            assert (await pair.node()).hold_state is HoldState.OURS
            wanted = intent(RELEASE, original=dict(held.original))
            assert (await pair.pursuits.pursue(wanted)).result is PursuitResult.ACHIEVED
            assert pair.slurm.world.nodes["n1"].mark is None

    asyncio.run(run())
