"""Sessions that wait for another one to succeed: the one that they wait for stays where it is."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.api_client.backendai.client import BackendAiClient
from accelwatch.api_client.backendai.errors import BackendAiRefusedError, Problem
from accelwatch.api_client.backendai.releases import Release
from accelwatch.api_client.backendai.server import ServerOptions, server_of
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch_backendai.api.dependents import Dependent, dependents_of
from accelwatch_backendai.sessions.dependents import dependents_text
from support.backendai.action_on_cluster import action_on, agents_of, move
from support.backendai.served import ServedCluster
from support.kubernetes.action_on_cluster import Pursuits

SMALL = {"cpu": "1", "mem": "1g"}


async def depending(cluster: ServedCluster, name: str, *on: str) -> str:
    """A batch session that waits for others to succeed."""
    return await cluster.create_session(
        name,
        type="batch",
        startupCommand="sleep 600",
        batch_timeout="7d",
        resources=SMALL,
        dependencies=list(on),
    )


def reader(cluster: ServedCluster) -> BackendAiClient:
    return BackendAiClient(server_of(msgspec.convert(cluster.server(), ServerOptions)))


def release_of(cluster: ServedCluster) -> Release:
    release = Release.parsed(cluster.release)
    assert release is not None
    return release


def is_named(cluster: ServedCluster) -> bool:
    """26.1.0 does not name them."""
    return not cluster.release.startswith("26.1.")


def test_those_that_wait_are_read_and_those_that_it_waits_for_are_not(
    cluster: ServedCluster,
) -> None:
    async def main() -> None:
        first = (await cluster.create_batch_session("train-first"))["session_id"]
        second = await depending(cluster, "train-second", first)
        third = await depending(cluster, "train-third", second)
        client, release = reader(cluster), release_of(cluster)
        found = {
            session: await dependents_of(client, release, session)
            for session in (first, second, third)
        }
        await client.close()
        if is_named(cluster):
            assert [(each.id, each.name) for each in found[first]] == [(second, "train-second")]
            assert [(each.id, each.status) for each in found[second]] == [(third, "PENDING")]
        else:
            assert found[first] == found[second] == (Dependent(),)
        assert found[third] == ()

    asyncio.run(main())


def test_a_session_that_another_waits_for_is_not_ended_and_a_person_is_notified(
    cluster: ServedCluster, tmp_path: Path
) -> None:
    file = tmp_path / "train.yaml"
    file.write_text("environ: {}\n")
    known: dict[str, Any] = {"specifications": [{"names": ["train*"], "file": str(file)}]}

    async def main() -> None:
        row = await cluster.create_batch_session("train-first")
        evaluation = await depending(cluster, "evaluate", row["session_id"])
        (bad,) = agents_of(row)
        async with action_on(cluster, bad, **known) as action:
            await cluster.change_agent(bad, schedulable=False)
            for kind in (IntentKind.MOVE_JOB, IntentKind.CANCEL_JOB):
                wanted = msgspec.structs.replace(move(row, bad), kind=kind)
                ended = await Pursuits(action).pursue(wanted)
                assert ended.result is PursuitResult.REFUSED
                assert "would start without its result, or never" in ended.text
                if is_named(cluster):
                    assert f"session evaluate ({evaluation})" in ended.text
            (text,) = await action.preview(bad, "")
            assert text.startswith(f"stays: session train-first ({row['session_id']})")
        assert (await cluster.session(row["session_id"]))["status"] == "RUNNING"
        ignoring = [{"leave": "move", "ignore_dependents": True}]
        async with action_on(cluster, bad, sessions=ignoring, **known) as action:
            moved = await Pursuits(action).pursue(move(row, bad))
            assert moved.result is PursuitResult.ACHIEVED, moved.text
        # It waits for the session that has ended, and for no other.
        assert (await cluster.session(evaluation))["status"] == "PENDING"

    asyncio.run(main())


class Failing:
    """A client whose requests all end in one error."""

    def __init__(self, status: int, **problem: Any) -> None:
        self._error = BackendAiRefusedError("refused", status=status, problem=Problem(**problem))

    async def graphql(self, *_: Any) -> bytes:
        raise self._error


@pytest.mark.parametrize(
    "client",
    [
        # A database that fails over, at the same place.
        Failing(200, kind="graphql", started=True, message="connection was closed"),
        Failing(200, kind="graphql", message="id"),
        Failing(403, kind="generic-forbidden", started=True, message="id"),
    ],
)
def test_a_failure_of_the_manager_is_not_taken_for_dependents(client: Any) -> None:
    with pytest.raises(BackendAiRefusedError, match="refused"):
        asyncio.run(dependents_of(client, Release(26, 1), "train"))


def test_a_release_that_cannot_be_queried_is_not_queried() -> None:
    nobody: Any = None
    assert asyncio.run(dependents_of(nobody, Release(24, 3), "")) == ()


def test_only_those_that_have_not_ended_are_named() -> None:
    waiting = Dependent(id="1", name="evaluate", status="PENDING")
    over = Dependent(id="2", name="export", status="CANCELLED")
    assert dependents_text([over]) == ""
    assert dependents_text([over, waiting]) == "session evaluate (1)"
    many = [Dependent(id=str(at), name="run", status="PENDING") for at in range(5)]
    assert dependents_text(many) == "sessions run (0), run (1), run (2) and 2 more"
    assert dependents_text([Dependent()]).startswith("other sessions")
