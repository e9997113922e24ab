"""The manager's rows of agents."""

from collections.abc import Mapping

import msgspec

# What the agents of the lab's real servers have: 8 mock devices, 64 cores, 1 TiB.
SLOTS: Mapping[str, int] = {"cpu": 64, "mem": 1 << 40, "cuda.device": 8}
DEFAULT_GROUP = "default"


class Agent(msgspec.Struct, kw_only=True):
    """An agent, and whether its machine lives."""

    id: str
    group: str = DEFAULT_GROUP
    schedulable: bool = True
    slots: Mapping[str, int] = msgspec.field(default_factory=lambda: SLOTS)
    # Of its RPC socket.
    addr: str
    first_contact: float
    # Unix seconds of its last heartbeat; None while it sends them.
    silent_since: float | None = None
    # Whether the agent has reported a clean stop.
    terminated: bool = False
    restarting: bool = False
    # Of the latest change of its status; None for one that never changed.
    status_changed: float | None = None
    lost_at: float | None = None

    @property
    def runs(self) -> bool:
        """Whether its process is there, whatever the manager believes."""
        return self.silent_since is None and not self.terminated

    def status(self) -> str:
        """What the manager believes; `Agents.notice` carries it on."""
        if self.terminated:
            return "TERMINATED"
        if self.restarting:
            return "RESTARTING"
        return "LOST" if self.lost_at is not None else "ALIVE"


class Agents:
    """All of them, by id."""

    def __init__(self) -> None:
        self.rows: dict[str, Agent] = {}

    def add(self, agent: Agent) -> None:
        """It is known from now on."""
        self.rows[agent.id] = agent

    def of_group(self, group: str) -> list[Agent]:
        """Those that the scheduler may give work to."""
        return [
            agent
            for agent in self.rows.values()
            if agent.group == group and agent.schedulable and agent.status() == "ALIVE"
        ]

    def notice(self, now: float, lost_after_s: float) -> None:
        """Who has been silent for too long is lost."""
        for agent in self.rows.values():
            since = agent.silent_since
            if since is not None and agent.lost_at is None and now - since >= lost_after_s:
                agent.lost_at = agent.status_changed = since + lost_after_s

    def kill(self, agent_id: str, now: float) -> None:
        """Its machine is dead from now on; nobody knows yet."""
        self.rows[agent_id].silent_since = now

    def stop(self, agent_id: str, now: float) -> None:
        """End it in order: it says so."""
        agent = self.rows[agent_id]
        agent.terminated, agent.status_changed = True, now

    def start(self, agent_id: str, now: float) -> None:
        """It is there again, with all that its row says."""
        agent = self.rows[agent_id]
        if agent.status() != "ALIVE":
            agent.status_changed = now
        agent.silent_since = agent.lost_at = None
        agent.terminated = agent.restarting = False
