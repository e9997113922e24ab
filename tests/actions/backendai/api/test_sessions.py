"""Sessions with their kernels as the manager lists them."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.api_client.backendai.errors import BackendAiRefusedError
from accelwatch_backendai.api.sessions import (
    Kernel,
    OwnedSession,
    Session,
    live_sessions,
    scheduled_sessions,
    session_by_id,
    sessions_named,
    sessions_tagged,
)
from support.backendai.fixtures import connected
from support.backendai.rows import pages, session_row
from support.backendai.signed_api import ACCESS_KEY, problem
from support.servers.scripted_api import answered

FIRST = "49073c33-ae6d-415d-9ad8-c7abd27291cb"
LIST = "compute_session_list"


def _sessions(secret_key_file: Path, *rows: dict[str, Any]) -> list[OwnedSession]:
    async def main() -> list[OwnedSession]:
        async with connected(secret_key_file, pages(LIST, rows)) as (client, _):
            return await scheduled_sessions(client)

    return asyncio.run(main())


def test_a_session_is_read_as_the_manager_shows_it(secret_key_file: Path) -> None:
    (row,) = _sessions(secret_key_file, session_row(FIRST, "i-gpu2", "i-gpu1"))
    assert row.owner == ACCESS_KEY
    assert row.session == Session(
        id=FIRST,
        name="train",
        type="batch",
        status="RUNNING",
        result="UNDEFINED",
        project="vision",
        resource_group="default",
        cluster_size=2,
        cluster_mode="multi-node",
        created=1795914204.139014,
        started=1795914212.704685,
        user="Ann Example",
        kernels=(
            Kernel(
                id="kernel-0",
                agent="i-gpu2",
                status="RUNNING",
                role="main",
                index=1,
                slots={"cuda.device": 8.0},
            ),
            Kernel(
                id="kernel-1",
                agent="i-gpu1",
                status="RUNNING",
                role="sub",
                index=1,
                slots={"cuda.device": 8.0},
            ),
        ),
    )


def test_a_session_that_waits_has_no_agent_and_no_start(secret_key_file: Path) -> None:
    row = session_row(FIRST, status="PENDING", status_history=None, containers=None)
    (owned,) = _sessions(secret_key_file, row)
    assert (owned.session.kernels, owned.session.started) == ((), None)


@pytest.mark.parametrize("history", ["{", '{"RUNNING": "soon"}', "[]", "{}"])
def test_a_history_that_says_nothing_is_no_start(history: str, secret_key_file: Path) -> None:
    (owned,) = _sessions(secret_key_file, session_row(FIRST, "i-1", status_history=history))
    assert owned.session.started is None


@pytest.mark.parametrize(
    ("name", "user"),
    [("Ann", "Ann"), ("ann@example.org", "id-1"), ("", "id-1"), (None, "id-1")],
)
def test_a_user_is_never_an_email_address(
    name: str | None, user: str, secret_key_file: Path
) -> None:
    row = session_row(FIRST, "i-1", full_name=name, user_id="id-1")
    (owned,) = _sessions(secret_key_file, row)
    assert owned.session.user == user


def test_the_owners_key_stands_neither_in_a_session_nor_in_a_representation(
    secret_key_file: Path,
) -> None:
    (owned,) = _sessions(secret_key_file, session_row(FIRST, "i-1"))
    assert ACCESS_KEY not in repr(owned) + repr(owned.session)
    assert ACCESS_KEY not in msgspec.json.encode(owned.session).decode()


def test_nothing_that_a_user_wrote_is_requested(secret_key_file: Path) -> None:
    async def main() -> None:
        async with connected(secret_key_file, pages(LIST, [])) as (client, api):
            await scheduled_sessions(client)
            query = api.received[0].body["query"]
            assert not any(word in query for word in ("startup_command", "email", "environ"))

    asyncio.run(main())


def test_a_thousand_sessions_are_read_in_pages(secret_key_file: Path) -> None:
    rows = [session_row(f"{number:036}", "i-1") for number in range(1000)]
    assert len(_sessions(secret_key_file, *rows)) == 1000


def test_a_session_is_read_by_its_id(secret_key_file: Path) -> None:
    async def main() -> None:
        async with connected(secret_key_file, pages(LIST, [session_row(FIRST)])) as (client, api):
            owned = await session_by_id(client, FIRST)
            assert owned is not None
            assert owned.session.id == FIRST
            assert api.received[0].body["variables"]["filter"] == f'id == "{FIRST}"'
        async with connected(secret_key_file, pages(LIST, [])) as (client, _):
            assert await session_by_id(client, FIRST) is None

    asyncio.run(main())


def test_sessions_of_an_agent_are_filtered_by_the_manager(secret_key_file: Path) -> None:
    async def main() -> None:
        answer = pages(LIST, [session_row(FIRST, "i-1")])
        async with connected(secret_key_file, answer) as (client, api):
            assert len(await live_sessions(client, "i-1")) == 1
            chosen = api.received[0].body["variables"]["filter"]
            assert chosen.endswith('& (agent_ids == "i-1")')
            assert '(status != "TERMINATED")' in chosen

    asyncio.run(main())


def test_a_manager_that_cannot_filter_by_agents_lists_all(secret_key_file: Path) -> None:
    async def main() -> None:
        unknown = answered(200, {"data": None, "errors": [{"message": "Unknown field name"}]})
        rows = [session_row(FIRST, "i-1"), session_row("other", "i-2"), session_row("none")]
        async with connected(secret_key_file, unknown, pages(LIST, rows)) as (client, _):
            (owned,) = await live_sessions(client, "i-1")
            assert owned.session.id == FIRST

    asyncio.run(main())


def test_a_key_without_the_right_is_no_reason_to_list_all(secret_key_file: Path) -> None:
    async def main() -> None:
        refused = problem(403, "generic-forbidden", "Forbidden operation.")
        async with connected(secret_key_file, refused) as (client, api):
            with pytest.raises(BackendAiRefusedError):
                await live_sessions(client, "i-1")
            assert len(api.received) == 1

    asyncio.run(main())


def test_sessions_of_a_name_are_those_of_their_owner(secret_key_file: Path) -> None:
    async def main() -> None:
        rows = [session_row("b", tag="accelwatch:x"), session_row("a")]
        async with connected(secret_key_file, pages(LIST, rows)) as (client, api):
            assert [row.id for row in await sessions_named(client, "KEY", "train")] == ["b", "a"]
            variables = api.received[0].body["variables"]
            assert (variables["key"], variables["filter"]) == ("KEY", 'name == "train"')
            tagged = await sessions_tagged(client, "KEY", "train", "accelwatch:x")
            assert [row.id for row in tagged] == ["b"]

    asyncio.run(main())
