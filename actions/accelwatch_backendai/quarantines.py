"""Whose an unschedulable agent is, for which its row has no field: the journal alone says it."""

from collections.abc import Mapping
from types import MappingProxyType

from accelwatch.action.intent import OwnerAnnotation
from accelwatch.action.observed import HoldState
from accelwatch_backendai.api.agents import Agent

_NONE: Mapping[str, OwnerAnnotation] = MappingProxyType({})


class Quarantines:
    """What the engine's journal says of our holds; for one event loop."""

    def __init__(self) -> None:
        # Live: each question is answered as of now. Without a journal nothing is ours.
        self._by_agent = _NONE

    def follow(self, by_agent: Mapping[str, OwnerAnnotation]) -> None:
        """From now on this says it."""
        self._by_agent = by_agent

    def all(self) -> Mapping[str, OwnerAnnotation]:
        """Those of this moment."""
        return dict(self._by_agent)

    def get(self, agent_id: str) -> OwnerAnnotation | None:
        """Our hold on an agent."""
        return self._by_agent.get(agent_id)


def hold_state(agent: Agent, annotation: OwnerAnnotation | None) -> HoldState:
    """Whose the agent is; `annotation` is our hold by the journal, before or after its row was read."""
    if agent.schedulable:
        return HoldState.OPEN
    return HoldState.FOREIGN if annotation is None else HoldState.OURS
