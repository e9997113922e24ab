"""Which agents a session gets, by what each release checks."""

from collections.abc import Sequence

from accelwatch_lab.cluster.backendai.api_server.release import Release
from accelwatch_lab.cluster.backendai.api_server.state.agents import Agent, Agents
from accelwatch_lab.cluster.backendai.api_server.state.sessions import Session, Sessions


def placement(
    session: Session, agents: Agents, sessions: Sessions, release: Release
) -> Sequence[str] | None:
    """An agent for each kernel; None where there is no room for all of them."""
    if not all(_has_succeeded(sessions.rows.get(name)) for name in session.dependencies):
        return None
    designated = [agents.rows[name] for name in session.agent_list if name in agents.rows]
    if session.agent_list and release.agent_list == "bound":
        # Whether it accepts work, and its group, are not checked.
        enough = len(designated) == len(session.kernels)
        return [agent.id for agent in designated] if enough else None
    candidates = agents.of_group(session.group)
    if session.agent_list and release.agent_list == "strict":
        candidates = [agent for agent in candidates if agent.id in session.agent_list]
    elif session.agent_list:
        candidates = sorted(candidates, key=lambda agent: agent.id not in session.agent_list)
    return _packed(session, candidates, sessions)


def _has_succeeded(session: Session | None) -> bool:
    return session is not None and (session.status, session.result) == ("TERMINATED", "SUCCESS")


def _packed(
    session: Session, candidates: Sequence[Agent], sessions: Sessions
) -> Sequence[str] | None:
    free = {
        agent.id: {
            slot: count - sessions.occupied(agent.id).get(slot, 0)
            for slot, count in agent.slots.items()
        }
        for agent in candidates
    }
    chosen: list[str] = []
    for _ in session.kernels:
        fitting = [
            name
            for name, slots in free.items()
            if all(slots.get(slot, 0) >= count for slot, count in session.slots.items())
        ]
        if session.cluster_mode == "single-node" and chosen:
            fitting = [name for name in fitting if name == chosen[0]]
        if not fitting:
            return None
        # Dispersed, which is the default: the emptiest first; else as they come.
        name = fitting[0] if session.agent_list else min(fitting, key=chosen.count)
        chosen.append(name)
        for slot, count in session.slots.items():
            free[name][slot] -= count
    return chosen
