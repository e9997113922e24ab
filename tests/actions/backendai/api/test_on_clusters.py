"""What managers answer is read, and a session that is created again is what it was."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from accelwatch.api_client.backendai.client import BackendAiClient, decoded
from accelwatch.api_client.backendai.releases import ManagerRelease, Release
from accelwatch.api_client.backendai.server import ServerOptions, server_of
from accelwatch_backendai.api.agents import agent_by_id, all_agents
from accelwatch_backendai.api.sessions import (
    OwnedSession,
    Session,
    live_sessions,
    scheduled_sessions,
    session_by_id,
    sessions_named,
    sessions_tagged,
)
from accelwatch_backendai.api.specifications import Specifications
from accelwatch_backendai.settings.specification_rules import SpecificationRule
from accelwatch_lab.cluster.backendai.access import Account
from support.backendai.served import ServedCluster

NAME = "specified"
TAG = "accelwatch:0:0"
ENVIRON = {"WANDB_KEY": "hunter2", "MODE": "train"}
# Base64 of `echo hi`.
SCRIPT = "ZWNobyBoaQ=="


@asynccontextmanager
async def client_of(cluster: ServedCluster) -> AsyncIterator[BackendAiClient]:
    client = BackendAiClient(server_of(msgspec.convert(cluster.server(), ServerOptions)))
    yield client
    await client.close()


async def specified(cluster: ServedCluster, name: str, **more: Any) -> str:
    """A batch session of the user on two agents, with what only some releases show again."""
    row = await cluster.create_batch_session(
        name,
        2,
        account=Account.USER,
        priority=20,
        bootstrap_script=SCRIPT,
        config={"environ": ENVIRON, "resource_opts": {"shmem": "134217728"}},
        **more,
    )
    return str(row["session_id"])


async def read(client: BackendAiClient, session_id: str) -> OwnedSession:
    owned = await session_by_id(client, session_id)
    assert owned is not None
    return owned


def what_it_is(session: Session) -> dict[str, object]:
    """Of a session and the one that was created again, the same."""
    return {
        "name": session.name,
        "type": session.type,
        "project": session.project,
        "group": session.resource_group,
        "size": (session.cluster_size, session.cluster_mode),
        "user": session.user,
        "slots": [kernel.slots for kernel in session.kernels],
    }


def rules_of(release: str, folder: Path) -> list[SpecificationRule]:
    """What an operator has to say besides what a release shows."""
    parsed = Release.parsed(release)
    assert parsed is not None
    if parsed >= Release(26, 4):
        return []
    file = folder / "specification.yaml"
    variables = "\n".join(f"  {name}: {text}" for name, text in ENVIRON.items())
    file.write_text(f"bootstrap_script: echo hi\nbatch_timeout: 7d\nenviron:\n{variables}\n")
    return [SpecificationRule(names=[f"{NAME}*"], file=str(file))]


def test_agents_and_their_sessions_are_read(cluster: ServedCluster) -> None:
    async def main() -> None:
        async with client_of(cluster) as client:
            assert str(await ManagerRelease(client).current()) == cluster.release
            session_id = await specified(cluster, NAME)
            agents = await all_agents(client)
            assert len(agents) == 4
            assert {agent.capacity["cuda.device"] for agent in agents} == {8.0}
            owned = await read(client, session_id)
            used = {kernel.agent for kernel in owned.session.kernels}
            assert {agent.id for agent in agents if not agent.idle} == used
            for agent in agents:
                here = await live_sessions(client, agent.id)
                expected = [session_id] if agent.id in used else []
                assert [row.session.id for row in here] == expected
            assert await agent_by_id(client, "i-none") is None
            assert await session_by_id(client, str(uuid.uuid4())) is None

    asyncio.run(main())


def test_a_pending_session_is_not_among_the_scheduled_ones(cluster: ServedCluster) -> None:
    async def main() -> None:
        row = await cluster.create_batch_session("train-placed")
        waits = await cluster.create_session("train-waits", resources={"cuda.device": "64"})
        async with client_of(cluster) as client:
            scheduled = [each.session.id for each in await scheduled_sessions(client)]
            assert scheduled == [row["session_id"]]
            assert (await read(client, waits)).session.status == "PENDING"

    asyncio.run(main())


def test_a_session_that_has_ended_is_created_again_as_it_was(
    cluster: ServedCluster, tmp_path: Path
) -> None:
    async def main() -> None:
        async with client_of(cluster) as client:
            rules = rules_of(cluster.release, tmp_path)
            specifications = Specifications(client, ManagerRelease(client), rules)
            name = f"{NAME}-{uuid.uuid4().hex[:8]}"
            first = await read(client, await specified(cluster, name))
            await cluster.end_session(first.session.id)
            await cluster.until(first.session.id, "TERMINATED")
            ended = await read(client, first.session.id)
            assert await specifications.missing(ended.session) == ""
            specification = await specifications.read(ended.session)
            assert specification is not None
            body = specification.body(tag=TAG, owner_access_key=ended.owner)
            assert body["config"] | {"environ": ENVIRON} == body["config"]  # type: ignore[operator]
            assert (body["bootstrap_script"], body["batch_timeout"]) in (
                (SCRIPT, "604800"),
                (SCRIPT, "7d"),
            )
            created = decoded(await client.post("/session", body, private=True), dict[str, object])
            assert created["created"] is True
            second = str(created["sessionId"])
            await cluster.until(second, "RUNNING")
            owned = await read(client, second)
            assert what_it_is(owned.session) == what_it_is(first.session)
            assert owned.owner == first.owner == cluster.keys(Account.USER).access_key
            named = await sessions_named(client, owned.owner, name)
            assert [row.id for row in named] == [second, first.session.id]
            tagged = await sessions_tagged(client, owned.owner, name, TAG)
            assert [row.id for row in tagged] == [second]
            # And what was created again is created again in the same way.
            again = await specifications.read(owned.session)
            assert again is not None
            assert again.body(tag=TAG, owner_access_key=ended.owner) == body

    asyncio.run(main())


def test_a_release_that_does_not_show_it_needs_a_file(cluster: ServedCluster) -> None:
    async def main() -> None:
        async with client_of(cluster) as client:
            specifications = Specifications(client, ManagerRelease(client))
            owned = await read(client, await specified(cluster, NAME))
            missing = await specifications.missing(owned.session)
            is_shown = cluster.release.startswith("26.9")
            assert ("26.4 and newer do" in missing) is not is_shown

    asyncio.run(main())
