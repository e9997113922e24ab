"""Agents as the manager lists them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from accelwatch.api_client.backendai.errors import BackendAiUnavailableError
from accelwatch_backendai.api.agents import Agent, agent_by_id, agents_by_id, all_agents
from support.backendai.fixtures import connected
from support.backendai.rows import agent_row, pages

CAPACITY = {"cpu": 64.0, "mem": 1099511627776.0, "cuda.device": 8.0}


def _agents(secret_key_file: Path, *rows: dict[str, Any]) -> list[Agent]:
    async def main() -> list[Agent]:
        async with connected(secret_key_file, pages("agent_list", rows)) as (client, _):
            return await all_agents(client)

    return asyncio.run(main())


def test_an_agent_is_read_as_the_manager_shows_it(secret_key_file: Path) -> None:
    assert _agents(secret_key_file, agent_row("i-gpu1")) == [
        Agent(
            id="i-gpu1",
            status="ALIVE",
            schedulable=True,
            resource_group="default",
            address="10.0.0.1",
            version="26.9.6",
            first_contact="2026-11-29T00:42:22.832992+00:00",
            capacity=CAPACITY,
            occupied=dict.fromkeys(CAPACITY, 0.0),
        )
    ]


@pytest.mark.parametrize(
    ("status", "alive"),
    [("ALIVE", True), ("LOST", False), ("RESTARTING", False), ("TERMINATED", False)],
)
def test_an_agent_is_alive_by_its_status(status: str, alive: bool, secret_key_file: Path) -> None:
    (agent,) = _agents(secret_key_file, agent_row("i-gpu1", status=status))
    assert agent.alive is alive


def test_an_agent_that_was_lost_says_when(secret_key_file: Path) -> None:
    lost = agent_row("i-gpu1", status="LOST", lost_at="2026-11-29T00:00:00+00:00")
    (agent,) = _agents(secret_key_file, lost)
    assert agent.lost == 1795910400.0


@pytest.mark.parametrize(("amount", "idle"), [("0", True), ("0.5", False)])
def test_an_agent_is_idle_while_no_session_has_anything_of_it(
    amount: str, idle: bool, secret_key_file: Path
) -> None:
    row = agent_row("i-gpu1", occupied_slots=f'{{"cpu": "0", "cuda.shares": "{amount}"}}')
    (agent,) = _agents(secret_key_file, row)
    assert agent.idle is idle


@pytest.mark.parametrize("text", [None, "", "{", '{"cuda.shares": null}', '{"cpu": "some"}'])
def test_an_agent_whose_sessions_are_not_known_is_not_idle(
    text: str | None, secret_key_file: Path
) -> None:
    (agent,) = _agents(secret_key_file, agent_row("i-gpu1", occupied_slots=text))
    assert not agent.idle


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("tcp://[fd00::1]:6001", "fd00::1"),
        ("tcp://node1:6001", "node1"),
        (None, ""),
        ("tcp://[", ""),
    ],
)
def test_an_address_is_the_host_of_it(address: Any, host: str, secret_key_file: Path) -> None:
    (agent,) = _agents(secret_key_file, agent_row("i-gpu1", addr=address))
    assert agent.address == host


def test_a_thousand_agents_are_read_in_pages(secret_key_file: Path) -> None:
    rows = [agent_row(f"i-{number:04}") for number in range(1000)]
    assert [agent.id for agent in _agents(secret_key_file, *rows)] == [row["id"] for row in rows]


def test_one_agent_is_read_by_its_id(secret_key_file: Path) -> None:
    async def main() -> None:
        answer = pages("agent_list", [agent_row("i-gpu1")])
        async with connected(secret_key_file, answer) as (client, api):
            agent = await agent_by_id(client, "i-gpu1")
            assert agent is not None
            assert api.received[0].body["variables"]["filter"] == '(id == "i-gpu1")'
        async with connected(secret_key_file, pages("agent_list", [])) as (client, _):
            assert await agent_by_id(client, "i-gpu9") is None

    asyncio.run(main())


def test_some_agents_are_one_request(secret_key_file: Path) -> None:
    async def main() -> None:
        answer = pages("agent_list", [agent_row("i-1"), agent_row("i-2")])
        async with connected(secret_key_file, answer) as (client, api):
            assert len(await agents_by_id(client, ["i-2", "i-1", "i-2"])) == 2
            (request,) = api.received
            assert request.body["variables"]["filter"] == '(id == "i-1") | (id == "i-2")'
            assert await agents_by_id(client, []) == []

    asyncio.run(main())


@pytest.mark.parametrize("changed", [{"id": None}, {"status": None}, {"schedulable": None}])
def test_a_row_without_what_decides_is_no_answer(
    changed: dict[str, Any], secret_key_file: Path
) -> None:
    with pytest.raises(BackendAiUnavailableError):
        _agents(secret_key_file, agent_row("i-gpu1", **changed))
