"""Agents as every release from 23.03 on shows them over GraphQL, to a superadmin's key only."""

from collections.abc import Iterable
from datetime import datetime
from urllib.parse import urlsplit

import msgspec

from accelwatch.api_client.backendai.client import BackendAiClient, decoded
from accelwatch.api_client.backendai.paging import PAGE, Page, all_rows, quoted
from accelwatch_backendai.api.slots import Slots, slots_in

# Fields that the manager fetches from agents (hardware_metadata) are left out: a lost one would block.
_QUERY = """query($limit: Int!, $offset: Int!, $filter: String) {
 agent_list(limit: $limit, offset: $offset, filter: $filter, order: "id") {
  total_count items { id status schedulable scaling_group addr version first_contact lost_at
   available_slots occupied_slots } } }"""
# Ids in one filter: their texts stay far below the longest request that the manager reads (2 MiB).
_TOGETHER = 200


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """One agent. Times in Unix seconds of the manager's clock."""

    id: str
    # ALIVE, LOST (no heartbeat for 40 s), RESTARTING or TERMINATED.
    status: str = ""
    # Whether new sessions are placed there; those that run go on.
    schedulable: bool = True
    resource_group: str = ""
    # Host name or address at which the manager reaches it.
    address: str = ""
    # Release of the agent.
    version: str = ""
    # When its row was made, as the manager writes it: it distinguishes rows of the same id.
    first_contact: str = ""
    # When its heartbeats stopped; None where they have not.
    lost: float | None = None
    # What it has.
    capacity: Slots = {}
    # What of it sessions have; None where the manager does not say it as expected.
    occupied: Slots | None = {}

    @property
    def alive(self) -> bool:
        """Whether its heartbeats come."""
        return self.status == "ALIVE"

    @property
    def idle(self) -> bool:
        """Whether it is known that no session has anything of it."""
        return self.occupied is not None and not any(self.occupied.values())


async def all_agents(client: BackendAiClient) -> list[Agent]:
    """All that the manager has ever known and not forgotten, by id.

    Raises BackendAiError.
    """
    return await _agents(client, None)


async def agent_by_id(client: BackendAiClient, agent_id: str) -> Agent | None:
    """One; None where the manager has none of that id. Raises as `all_agents`."""
    return next(iter(await agents_by_id(client, [agent_id])), None)


async def agents_by_id(client: BackendAiClient, ids: Iterable[str]) -> list[Agent]:
    """Those of some ids that there are. Raises as `all_agents`."""
    names = sorted(set(ids))
    agents: list[Agent] = []
    for start in range(0, len(names), _TOGETHER):
        chosen = " | ".join(f"(id == {quoted(name)})" for name in names[start : start + _TOGETHER])
        agents += await _agents(client, chosen)
    return agents


async def _agents(client: BackendAiClient, chosen: str | None) -> list[Agent]:
    async def page(offset: int) -> Page[_AgentRow]:
        variables = {"limit": PAGE, "offset": offset, "filter": chosen}
        listed = decoded(await client.graphql(_QUERY, variables), _Data).agent_list
        return Page(listed.items, listed.total_count)

    return [_agent(row) for row in await all_rows(page, lambda row: row.id)]


class _AgentRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    status: str
    schedulable: bool
    scaling_group: str | None = None
    addr: str | None = None
    version: str | None = None
    first_contact: str | None = None
    lost_at: datetime | None = None
    # JSON in strings.
    available_slots: str | None = None
    occupied_slots: str | None = None


class _List(msgspec.Struct, frozen=True):
    items: tuple[_AgentRow, ...]
    total_count: int = 0


class _Data(msgspec.Struct, frozen=True):
    agent_list: _List


def _agent(row: _AgentRow) -> Agent:
    return Agent(
        id=row.id,
        status=row.status.upper(),
        schedulable=row.schedulable,
        resource_group=row.scaling_group or "",
        address=_host(row.addr or ""),
        version=row.version or "",
        first_contact=row.first_contact or "",
        lost=None if row.lost_at is None else row.lost_at.timestamp(),
        capacity=slots_in(row.available_slots) or {},
        occupied=slots_in(row.occupied_slots),
    )


def _host(address: str) -> str:
    """Of a URL such as tcp://10.0.0.1:6001."""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""
