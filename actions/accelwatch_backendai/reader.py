"""Agents read by their ids, in the words of the contract."""

from accelwatch_backendai.api.agents import Agent, agent_by_id
from accelwatch_backendai.api.answers import unavailable_if_unread
from accelwatch_backendai.rows import Access


async def read_agent(access: Access, agent: str) -> Agent | None:
    """An agent as it is now; None without one. Raises ActionUnavailableError."""
    with unavailable_if_unread():
        return await agent_by_id(access.client, agent)
