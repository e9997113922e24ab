"""How things stand for an intent: its agent, and what its kind needs besides."""

from collections.abc import Mapping, Sequence

from accelwatch.action.intent import Intent, IntentKind, OwnerAnnotation
from accelwatch.action.observed import HoldState, NodeObservation, Observed
from accelwatch_backendai.api.agents import Agent, all_agents
from accelwatch_backendai.api.answers import unavailable_if_unread
from accelwatch_backendai.api.sessions import scheduled_sessions
from accelwatch_backendai.observed_context import AGENT, ANNOTATION, text_of
from accelwatch_backendai.quarantines import hold_state
from accelwatch_backendai.reader import read_agent
from accelwatch_backendai.rows import Access, Read
from accelwatch_backendai.sessions.node_jobs import NodeJobs, jobs_by_agent

# Whether the agent's daemon answers the manager; of one that restarts it does not say.
_ANSWERING: Mapping[str, bool] = {"ALIVE": True, "LOST": False, "TERMINATED": False}
_NO_JOBS = NodeJobs()
UNSCHEDULABLE = "unschedulable"


class Observer:
    """The read side; for one event loop."""

    def __init__(self, access: Access, readings: Mapping[IntentKind, Read]) -> None:
        self._access = access
        self._readings = readings

    async def observe_all(self) -> Sequence[NodeObservation]:
        """All agents, and the jobs on them. Raises ActionUnavailableError."""
        before = self._access.quarantines.all()
        with unavailable_if_unread():
            agents = await all_agents(self._access.client)
            sessions = await scheduled_sessions(self._access.client)
        jobs = jobs_by_agent(
            self._access.name, [row.session for row in sessions], self._access.options.sessions
        )
        return [
            observed_node(
                agent,
                self._annotation(agent.id, before.get(agent.id)),
                jobs.get(agent.id, _NO_JOBS),
            )
            for agent in agents
        ]

    async def observe(self, intent: Intent) -> Observed:
        """How things stand for an intent, read now. Raises ActionUnavailableError."""
        access = self._access
        before = access.quarantines.get(intent.node)
        agent = await read_agent(access, intent.node)
        annotation = self._annotation(intent.node, before)
        own = {AGENT: text_of(agent), ANNOTATION: text_of(annotation)}
        node = NodeObservation(name=intent.node, hold_state=HoldState.MISSING)
        if agent is not None:
            node = observed_node(agent, annotation)
        read = self._readings.get(intent.kind)
        if read is None:
            return Observed(time=access.clock.wall(), node=node, own=own)
        reading = await read(access, intent, own)
        return Observed(
            time=access.clock.wall(),
            node=node,
            job=reading.job,
            proven_dead=reading.proven_dead,
            own={**own, **reading.own},
        )

    def _annotation(self, agent: str, before: OwnerAnnotation | None) -> OwnerAnnotation | None:
        """Our hold on an agent whose row was read since `before`: it may be set or released since."""
        return self._access.quarantines.get(agent) or before


def observed_node(
    agent: Agent, annotation: OwnerAnnotation | None, jobs: NodeJobs = _NO_JOBS
) -> NodeObservation:
    """An agent, in the words of the contract."""
    state = hold_state(agent, annotation)
    return NodeObservation(
        name=agent.id,
        hold_state=state,
        answering=_ANSWERING.get(agent.status),
        annotation=annotation if state is HoldState.OURS else None,
        reason="" if agent.schedulable else UNSCHEDULABLE,
        address=agent.address,
        jobs=jobs.jobs,
        restartable=jobs.restartable,
        owners=jobs.owners,
        pools=(agent.resource_group,) if agent.resource_group else (),
        incarnation=agent.first_contact,
    )
