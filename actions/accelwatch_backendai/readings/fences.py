"""What is read for the fence of a node besides its agent: its power."""

from collections.abc import Mapping

from accelwatch.action.intent import Intent
from accelwatch.action.kit.effects import Reading
from accelwatch_backendai.observed_context import AGENT, OFF, agent_of
from accelwatch_backendai.rows import Access


async def read_fence(access: Access, intent: Intent, own: Mapping[str, str]) -> Reading:
    """Whether a node whose agent does not answer has no power; of one that answers it is not checked."""
    agent = agent_of(own.get(AGENT, ""))
    answers = agent is not None and agent.alive
    off = not answers and await access.power.is_off(intent.node)
    return Reading(own={OFF: intent.node if off else ""}, proven_dead=off)
