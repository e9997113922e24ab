"""A session of two agents, one of which is lost: it goes on only once nothing can run there."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.action.step import RefusalKind
from accelwatch.remediation.policy.state.pursued import PursuitResult
from support.backendai.action_on_cluster import action_on, agents_of, move
from support.backendai.served import ServedCluster
from support.backendai.stand_in import StandInCluster
from support.kubernetes.action_on_cluster import NAME, Pursuits
from support.kubernetes.action_on_cluster import intent as intent_about


@pytest.fixture
def options(tmp_path: Path) -> dict[str, Any]:
    """A node `n` has no power while the file `off-n` is there; the manager shows no environment."""
    file = tmp_path / "train.yaml"
    file.write_text("environ: {}\n")
    return {
        "specifications": [{"names": ["train*"], "file": str(file)}],
        "force_after_s": 0.0,
        "power_off": ["/usr/bin/touch", f"{tmp_path}/off-{{node}}"],
        "power_state": ["/usr/bin/test", "-e", f"{tmp_path}/off-{{node}}"],
    }


async def lost(cluster: ServedCluster) -> tuple[dict[str, Any], str]:
    """A session of two agents, and the one of them that is lost and out of service."""
    row = await cluster.create_batch_session("train-lost", nodes=2)
    bad = agents_of(row)[-1]
    await cluster.change_agent(bad, schedulable=False)
    cluster.kill_agent(bad)
    await cluster.until_lost(bad)
    return row, bad


def test_it_is_left_until_its_node_is_fenced(
    stand_in: StandInCluster, options: dict[str, Any]
) -> None:
    async def run() -> None:
        row, bad = await lost(stand_in)
        async with action_on(stand_in, bad, **options) as action:
            pursuits = Pursuits(action)
            wanted = move(row, bad)
            ended = await pursuits.pursue(wanted)
            assert (ended.result, ended.refusal) == (PursuitResult.REFUSED, RefusalKind.UNSAFE)
            assert list(pursuits.ledger.of(NAME, wanted)) == []
        assert (await stand_in.session(row["session_id"]))["status"] == "RUNNING"

    asyncio.run(run())


def test_it_goes_on_elsewhere_once_its_node_has_no_power(
    cluster: StandInCluster, options: dict[str, Any]
) -> None:
    async def run() -> None:
        row, bad = await lost(cluster)
        async with action_on(cluster, bad, **options) as action:
            pursuits = Pursuits(action)
            fence = intent_about(IntentKind.FENCE, bad)
            assert (await pursuits.pursue(fence)).result is PursuitResult.ACHIEVED
            assert pursuits.done(fence) == ["power_off"]
            wanted = move(row, bad)
            moved = await pursuits.pursue(wanted)
            if cluster.release.startswith("26.1"):
                # It ends no session whose agent does not answer, by force or without.
                assert moved.result is PursuitResult.REFUSED
                assert "TERMINATING until its agents answer" in moved.text
                assert len(await cluster.sessions(name="train-lost")) == 1
                return
            assert moved.result is PursuitResult.ACHIEVED, moved.text
            assert pursuits.done(wanted) == ["end_session", "end_session", "create_session"]
            assert bad not in moved.moved_to
        assert len(await cluster.sessions(name="train-lost")) == 2

    asyncio.run(run())


def test_what_a_person_has_ended_by_force_is_not_started_beside_its_old_copy(
    stand_in: StandInCluster, options: dict[str, Any]
) -> None:
    async def run() -> None:
        row, bad = await lost(stand_in)
        await stand_in.end_session(row["session_id"], forced=True)
        await stand_in.until(row["session_id"], "TERMINATED")
        async with action_on(stand_in, bad, **options) as action:
            # As after an end of ours that was overtaken by a person's.
            started = move(row, bad, original={f"ended {row['session_id']}": "train-lost"})
            ended = await Pursuits(action).pursue(started)
            assert (ended.result, ended.refusal) == (PursuitResult.REFUSED, RefusalKind.UNSAFE)
            assert "fence it first" in ended.text
        assert len(await stand_in.sessions(name="train-lost")) == 1

    asyncio.run(run())
