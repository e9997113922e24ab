"""Sessions that leave a bad agent of a manager that runs: by the engine's own pursuits."""

import asyncio
from typing import Any

import msgspec
import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch_backendai.api.tags import tag_of
from support.backendai.action_on_cluster import action_on, agents_of, key_of, move
from support.backendai.served import ENDED, ServedCluster
from support.backendai.stand_in import StandInCluster
from support.kubernetes.action_on_cluster import NAME, Pursuits
from support.kubernetes.action_on_cluster import intent as intent_about


@pytest.fixture
def known(tmp_path: Any) -> dict[str, Any]:
    """What releases before 26.4 have to be told of a session."""
    file = tmp_path / "train.yaml"
    file.write_text("environ: {}\n")
    return {"specifications": [{"names": ["train*"], "file": str(file)}]}


def test_a_session_of_two_agents_goes_on_elsewhere(
    cluster: ServedCluster, known: dict[str, Any]
) -> None:
    async def run() -> None:
        row = await cluster.create_batch_session("train-two", nodes=2, tag="nightly")
        _, bad = agents_of(row)
        async with action_on(cluster, bad, **known) as action:
            await cluster.change_agent(bad, schedulable=False)
            pursuits = Pursuits(action)
            wanted = move(row, bad)
            moved = await pursuits.pursue(wanted)
            assert moved.result is PursuitResult.ACHIEVED, moved.text
            assert pursuits.done(wanted) == ["end_session", "create_session"]
            assert bad not in moved.moved_to
        before, after = await cluster.sessions(name="train-two")
        assert before["status"] == "TERMINATED"
        assert (after["status"], after["tag"]) == (
            "RUNNING",
            tag_of(before["session_id"], before["session_id"]),
        )
        assert agents_of(after) == sorted(moved.moved_to)
        assert after["access_key"] == before["access_key"]
        assert after["startup_command"] == before["startup_command"]
        assert set(moved.original) == {
            f"ended {before['session_id']}",
            f"tag {before['session_id']}",
        }

    asyncio.run(run())


def test_the_same_job_moves_again_under_its_first_key(
    cluster: ServedCluster, known: dict[str, Any]
) -> None:
    async def run() -> None:
        row = await cluster.create_batch_session("train-again")
        async with action_on(cluster, "i-gpu1", "i-gpu2", "i-gpu3", **known) as action:
            where = agents_of(row)
            for _ in range(2):
                await cluster.change_agent(where[0], schedulable=False)
                moved = await Pursuits(action).pursue(move(row, where[0]))
                assert moved.result is PursuitResult.ACHIEVED, moved.text
                where = list(moved.moved_to)
            nodes = {node.name: node.jobs for node in await action.observe_all()}
            assert nodes[where[0]] == (key_of(row),)
            job = (await action.observe(move(row, where[0]))).job
            assert job is not None
            assert (job.restarts, job.nodes) == (2, tuple(where))

    asyncio.run(run())


def test_an_interactive_session_is_named_and_left(cluster: ServedCluster) -> None:
    async def run() -> None:
        session_id = await cluster.create_session("notebook", type="interactive")
        row = await cluster.until(session_id, "RUNNING")
        (bad,) = agents_of(row)
        async with action_on(cluster, bad) as action:
            await cluster.change_agent(bad, schedulable=False)
            ended = await Pursuits(action).pursue(move(row, bad))
            assert ended.result is PursuitResult.REFUSED
            assert f"session notebook ({session_id}) stays on {bad}" in ended.text
            (text,) = await action.preview(bad, "")
            assert text.startswith(f"stays: session notebook ({session_id})")
        assert (await cluster.session(session_id))["status"] == "RUNNING"

    asyncio.run(run())


def test_a_session_that_a_person_has_ended_stays_so(
    cluster: ServedCluster, known: dict[str, Any]
) -> None:
    async def run() -> None:
        row = await cluster.create_batch_session("train-ended")
        (bad,) = agents_of(row)
        await cluster.end_session(row["session_id"])
        await cluster.until(row["session_id"], *ENDED)
        async with action_on(cluster, bad, **known) as action:
            ended = await Pursuits(action).pursue(move(row, bad))
            assert ended.result is PursuitResult.REFUSED
        assert len(await cluster.sessions(name="train-ended")) == 1

    asyncio.run(run())


def test_a_session_that_nobody_can_create_anew_is_not_ended(cluster: ServedCluster) -> None:
    async def run() -> None:
        row = await cluster.create_batch_session("train-unknown")
        (bad,) = agents_of(row)
        async with action_on(cluster, bad) as action:
            await cluster.change_agent(bad, schedulable=False)
            wanted = move(row, bad)
            ended = await Pursuits(action).pursue(wanted)
            if cluster.release.startswith("26.1"):
                assert ended.result is PursuitResult.REFUSED
                assert "not resumed by us" in ended.text
                assert (await cluster.session(row["session_id"]))["status"] == "RUNNING"
            else:
                assert ended.result is PursuitResult.ACHIEVED, ended.text

    asyncio.run(run())


def test_a_job_is_cancelled_and_not_restarted(cluster: ServedCluster) -> None:
    async def run() -> None:
        row = await cluster.create_batch_session("train-over")
        (node,) = agents_of(row)
        async with action_on(cluster, node) as action:
            pursuits = Pursuits(action)
            wanted = intent_about(IntentKind.CANCEL_JOB, node, job=key_of(row))
            over = await pursuits.pursue(wanted)
            assert over.result is PursuitResult.ACHIEVED, over.text
            restore = intent_about(
                IntentKind.RESTORE_JOB, node, job=key_of(row), original=over.original
            )
            assert (await pursuits.pursue(restore)).result is PursuitResult.ACHIEVED
            assert list(pursuits.ledger.of(NAME, restore)) == []
        assert [each["status"] for each in await cluster.sessions(name="train-over")] == [
            "TERMINATED"
        ]

    asyncio.run(run())


def test_a_job_that_has_died_is_restarted(stand_in: StandInCluster) -> None:
    async def run() -> None:
        row = await stand_in.create_batch_session("train-died")
        stand_in.finish(row["session_id"], succeeded=False)
        await stand_in.until(row["session_id"], *ENDED)
        (node,) = agents_of(row)
        async with action_on(stand_in) as action:
            pursuits = Pursuits(action)
            dead = move(row, node)
            assert (await pursuits.pursue(dead)).result is PursuitResult.REFUSED
            wanted = msgspec.structs.replace(
                dead, revive=True, restarts=0, bad_nodes=(), asked=dead.asked + 1.0
            )
            again = await pursuits.pursue(wanted)
            assert again.result is PursuitResult.ACHIEVED, again.text
            assert pursuits.done(wanted) == ["create_session"]
        assert len(await stand_in.sessions(name="train-died")) == 2

    asyncio.run(run())


def test_one_that_is_done_is_not_restarted(stand_in: StandInCluster) -> None:
    async def run() -> None:
        row = await stand_in.create_batch_session("train-done")
        stand_in.finish(row["session_id"], succeeded=True)
        await stand_in.until(row["session_id"], *ENDED)
        (node,) = agents_of(row)
        async with action_on(stand_in) as action:
            ended = await Pursuits(action).pursue(move(row, node, revive=True, restarts=0))
            assert ended.result is PursuitResult.REFUSED
        assert len(await stand_in.sessions(name="train-done")) == 1

    asyncio.run(run())
