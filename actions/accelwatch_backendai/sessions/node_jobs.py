"""The jobs on all agents, by the sessions that have not ended. Pure."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from accelwatch.action.intent import JobKey
from accelwatch_backendai.api.sessions import Session
from accelwatch_backendai.sessions.job_view import unfinished
from accelwatch_backendai.sessions.leaving import stay_reason
from accelwatch_backendai.sessions.lineage import key_of
from accelwatch_backendai.settings.session_rules import SessionRule


class NodeJobs(msgspec.Struct, frozen=True, kw_only=True):
    """What runs on one agent."""

    jobs: tuple[JobKey, ...] = ()
    # Those that the rules move are restarted when they die, too: no user says it for a session.
    restartable: frozenset[JobKey] = frozenset()
    # Who submitted each of them, by the job as people write it.
    owners: Mapping[str, str] = {}


def jobs_by_agent(
    cluster: str, sessions: Iterable[Session], rules: Sequence[SessionRule]
) -> dict[str, NodeJobs]:
    """Of the agents that have any; `cluster` is the action's name."""
    on: dict[str, dict[JobKey, Session]] = {}
    for session in sessions:
        key = key_of(cluster, session)
        for kernel in unfinished(session):
            on.setdefault(kernel.agent, {})[key] = session
    return {
        agent: NodeJobs(
            jobs=tuple(sorted(jobs)),
            restartable=frozenset(
                key for key, session in jobs.items() if not stay_reason(session, rules)
            ),
            owners={str(key): session.user for key, session in jobs.items() if session.user},
        )
        for agent, jobs in on.items()
    }
