"""What an observation shows of a job, its sessions, and the agents that it is or was on. Pure."""

from collections.abc import Iterable
from functools import lru_cache

import msgspec

from accelwatch.action.intent import Intent
from accelwatch_backendai.api.agents import Agent
from accelwatch_backendai.api.sessions import Kernel, Session
from accelwatch_backendai.observed_context import ObservedContext
from accelwatch_backendai.sessions.lineage import Lineage
from accelwatch_backendai.sessions.states import is_kernel_finished, was_forced

# Keys of `own`: the sessions of the job, the oldest first; the agents that those are or were on; ids of
# those of them that have no power; why there is no specification of the newest session, empty where
# there is one; why it waits, in the manager's words; which sessions depend on the newest one.
SESSIONS, AGENTS, UNSPECIFIED, WAITS = "sessions", "agents", "unspecified", "waits"
DEPENDENTS = "dependents"
# In `original` of a step that ends a session, before its id: what was there, and that it was ended
# without its agents' word once their power was proven to be off.
TERMINATED, FORCED = "ended ", "forced "


class JobView(msgspec.Struct, frozen=True, kw_only=True):
    """A job that is to leave its agents."""

    lineage: Lineage
    # By id.
    agents: dict[str, Agent]
    off: frozenset[str]
    unspecified: str
    waits: str
    dependents: str

    def silent(self, kernels: Iterable[Kernel]) -> str:
        """The first agent of some kernels that does not answer and may still run them; else empty."""
        for kernel in kernels:
            if kernel.agent and not self.answers(kernel.agent) and kernel.agent not in self.off:
                return kernel.agent
        return ""

    def may_run_on(self, intent: Intent, session: Session) -> str:
        """The first agent on which something of a session may still run; empty where none is left.

        Its agents have reported each kernel as ended, or have no power; what we ended without
        their report had the second proof when it was ended, and no kernel outlives that.
        """
        if intent.fenced_by_job or FORCED + session.id in intent.original:
            return ""
        for kernel in unfinished(session):
            if kernel.agent not in self.off:
                return kernel.agent
        return ""

    def answers(self, agent: str) -> bool:
        """Whether an agent is known to answer."""
        row = self.agents.get(agent)
        return row is not None and row.alive


def unfinished(session: Session) -> list[Kernel]:
    """Its kernels that no agent has reported as ended."""
    forced = was_forced(session.status_info)
    return [
        kernel
        for kernel in session.kernels
        if kernel.agent and not is_kernel_finished(kernel.status, forced=forced)
    ]


def agents_of(session: Session) -> tuple[str, ...]:
    """Where its kernels are or were."""
    return tuple(sorted({kernel.agent for kernel in session.kernels if kernel.agent}))


def named(session: Session) -> str:
    """A session, for people."""
    return f"session {session.name} ({session.id})"


def was_terminated_for(intent: Intent, session: Session) -> bool:
    """Whether a step for this intent has ended it, or may have."""
    return TERMINATED + session.id in intent.original


def job_view(context: ObservedContext) -> JobView:
    """What the texts say."""
    own = context.own
    return JobView(
        lineage=Lineage(sessions_in(own.get(SESSIONS, ""))),
        agents={agent.id: agent for agent in agents_in(own.get(AGENTS, ""))},
        off=context.off,
        unspecified=own.get(UNSPECIFIED, ""),
        waits=own.get(WAITS, ""),
        dependents=own.get(DEPENDENTS, ""),
    )


_SESSIONS = msgspec.json.Decoder(tuple[Session, ...])
_AGENTS = msgspec.json.Decoder(tuple[Agent, ...])


# An observation is parsed several times: to propose, to decide and to report.
@lru_cache(maxsize=256)
def sessions_in(text: str) -> tuple[Session, ...]:
    """The sessions of an observation; none where they were not read."""
    return _SESSIONS.decode(text) if text else ()


# One observation is read for each of its nodes and jobs; the next is another text.
@lru_cache(maxsize=256)
def agents_in(text: str) -> tuple[Agent, ...]:
    """The agents of an observation; none where they were not read."""
    return _AGENTS.decode(text) if text else ()
